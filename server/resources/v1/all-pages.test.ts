import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { MessageShape } from '@bufbuild/protobuf'
import { create, fromBinary, toJson } from '@bufbuild/protobuf'
import type { Group } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupListSchema, GroupSchema } from '@stemma/api/gen/platform/iam/group_pb.ts'
import type { ListGroupsResponseSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Code } from '../../aip/code.ts'
import { StatusError } from '../../aip/errors.ts'
import type { Call } from '../../rpc/call.ts'
import { openUnsentBudget } from '../../rpc/unsent-budget.ts'
import type { JsonParts, Reply } from '../../wire/reply.ts'
import { listAllPages } from './all-pages.ts'
import type { CallV2 } from './call-v2.ts'

const method = GroupsService.method.listGroups

/** A v2 list of groups with this many pages, and the page tokens and page sizes of the calls to it. */
function fakeList(pages: number, perPage: number, description = '') {
  const pageTokens: string[] = []
  const pageSizes: number[] = []
  type Request = { pageToken: string; pageSize: number }
  const callV2 = (async (_call: Call, { output }: typeof method, { pageToken, pageSize }: Request) => {
    pageTokens.push(pageToken)
    pageSizes.push(pageSize)
    const page = pageTokens.length
    const nextPageToken = page < pages ? `page ${page + 1}` : ''
    const groups = Array.from({ length: perPage }, (_, index) => ({ uid: `${page}.${index}`, description }))
    return { message: create(output, { groups, nextPageToken }), etag: undefined }
  }) as unknown as CallV2
  return { callV2, pageTokens, pageSizes }
}

const deadline = 1_000
const caller = { identity: 'someone', issuedAt: 0 }
const callIn = (form: Call['form']) => ({ form, deadline, address: '', demand: { caller } }) as Call

type Page = MessageShape<typeof ListGroupsResponseSchema>

const v1Groups = ({ groups }: Page) =>
  groups.map(({ uid, description }) => create(GroupSchema, { id: uid, description }))

const list = (
  callV2: CallV2,
  form: Call['form'],
  { items = v1Groups, deadlineClock = (): number => 0, unsent = openUnsentBudget() } = {},
) =>
  listAllPages({ callV2, deadlineClock, waitForTurn: async () => {}, unsent }, callIn(form), {
    method,
    request: { name: 'a' },
    list: GroupListSchema,
    items,
  })

async function* eachOf(parts: JsonParts) {
  for (let part = await parts.next(); part !== undefined; part = await parts.next()) {
    yield part
    await parts.wait()
  }
}

/** The JSON of a reply, from its parts if it has some. */
async function textOf(reply: Reply): Promise<string> {
  return reply.parts ? (await Array.fromAsync(eachOf(reply.parts()))).join('') : reply.json().text
}

const hasCode = (code: Code) => (error: unknown) => error instanceof StatusError && error.code === code

describe('listAllPages', () => {
  test('returns the items of all pages as JSON and as bytes', async () => {
    const { callV2, pageTokens } = fakeList(3, 2)
    const json = JSON.parse(await textOf(await list(callV2, 'json')))
    assert.deepEqual(pageTokens, ['', 'page 2', 'page 3'])
    const ids = (json.items as { id: string }[]).map(({ id }) => id)
    assert.deepEqual(ids, ['1.0', '1.1', '2.0', '2.1', '3.0', '3.1'])
    const bytes = (await list(fakeList(3, 2).callV2, 'bytes')).bytes()
    const { items } = toJson(GroupListSchema, fromBinary(GroupListSchema, bytes)) as {
      items: { id: string }[]
    }
    assert.deepEqual(
      items.map(({ id }) => id),
      ids,
    )
  })

  test('returns an empty list', async () => {
    assert.equal((await list(fakeList(1, 0).callV2, 'json')).json().text, '{"items":[]}')
    assert.equal((await list(fakeList(1, 0).callV2, 'bytes')).bytes().length, 0)
  })

  test('rejects a list of more than 100 MiB for gRPC', async () => {
    const { callV2, pageTokens } = fakeList(1000, 2, 'x'.repeat(1024 * 1024))
    await assert.rejects(list(callV2, 'bytes'), hasCode(Code.RESOURCE_EXHAUSTED))
    assert.ok(pageTokens.length <= 51)
  })

  test('reads each page of JSON only after the previous one is consumed, for a list of any length', async () => {
    const { callV2, pageTokens } = fakeList(1000, 2, 'x'.repeat(100_000))
    const { parts } = await list(callV2, 'json')
    assert.ok(parts)
    let bytes = 0
    let consumed = 0
    for await (const part of eachOf(parts())) {
      bytes += part.length
      assert.ok(pageTokens.length <= ++consumed)
    }
    assert.equal(pageTokens.length, 1000)
    assert.ok(bytes > 2 * 1000 * 100_000)
  })

  test('keeps no items in memory while a client receives their page', async () => {
    setFlagsFromString('--expose-gc')
    const collectGarbage = runInNewContext('gc')
    const item: { current: WeakRef<Group> | undefined } = { current: undefined }
    const items = () => {
      const group = create(GroupSchema, { id: 'a' })
      item.current = new WeakRef(group)
      return [group]
    }
    const { parts } = await list(fakeList(3, 1).callV2, 'json', { items })
    assert.ok(parts)
    for await (const part of eachOf(parts())) {
      assert.ok(part)
      await nextTurn() // a WeakRef keeps its target until the end of the turn
      collectGarbage()
      assert.equal(item.current?.deref(), undefined)
    }
  })

  test('reads smaller pages of JSON if the items are long, but never an empty one', async () => {
    for (const [length, size] of [
      [10, 200],
      [4 * 1024, 11],
      [1024 * 1024, 1],
    ] as const) {
      const { callV2, pageSizes } = fakeList(3, 2, 'x'.repeat(length))
      await textOf(await list(callV2, 'json'))
      assert.deepEqual(pageSizes, [200, size, size])
    }
  })

  test('writes well-formed JSON if pages are empty', async () => {
    const pages = [[], [create(GroupSchema, { id: 'a' })], [], [create(GroupSchema, { id: 'b' })], []]
    const items = () => pages.shift() ?? []
    const json = JSON.parse(await textOf(await list(fakeList(5, 0).callV2, 'json', { items })))
    assert.deepEqual(
      json.items.map(({ id }: { id: string }) => id),
      ['a', 'b'],
    )
    const none = await list(fakeList(3, 0).callV2, 'json', { items: () => [] })
    assert.equal(await textOf(none), '{"items":[]}')
  })

  test('collects pages for gRPC within the budget of the caller, and rejects a larger list', async () => {
    const unsent = openUnsentBudget({ limits: { perCaller: 1000 } })
    const { callV2, pageTokens } = fakeList(1000, 2, 'x'.repeat(100))
    await assert.rejects(list(callV2, 'bytes', { unsent }), hasCode(Code.RESOURCE_EXHAUSTED))
    assert.ok(pageTokens.length <= 5)
    // The rejected list no longer uses the budget.
    unsent.reserve({ identity: caller.identity, address: '' }, 1000)
  })

  test('rejects a list of more than a million items', async () => {
    const { callV2, pageTokens } = fakeList(Number.MAX_SAFE_INTEGER, 0)
    const many = Array.from({ length: 20_000 }, () => create(GroupSchema))
    const listing = list(callV2, 'bytes', { items: () => many })
    await assert.rejects(listing, hasCode(Code.RESOURCE_EXHAUSTED))
    assert.ok(pageTokens.length <= 51)
  })

  test('stops reading pages after the deadline', async () => {
    const { callV2, pageTokens } = fakeList(Number.MAX_SAFE_INTEGER, 1)
    const deadlineClock = () => (pageTokens.length < 3 ? deadline : deadline + 1)
    await assert.rejects(list(callV2, 'bytes', { deadlineClock }), hasCode(Code.DEADLINE_EXCEEDED))
    assert.equal(pageTokens.length, 3)
  })

  test('stops sending pages after an hour', async () => {
    const { callV2, pageTokens } = fakeList(Number.MAX_SAFE_INTEGER, 1)
    const deadlineClock = () => (pageTokens.length < 3 ? deadline : deadline + 3_600_001)
    const { parts } = await list(callV2, 'json', { deadlineClock })
    assert.ok(parts)
    await assert.rejects(Array.fromAsync(eachOf(parts())), hasCode(Code.DEADLINE_EXCEEDED))
    assert.equal(pageTokens.length, 3)
  })
})
