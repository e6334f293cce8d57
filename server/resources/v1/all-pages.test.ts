import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MessageShape } from '@bufbuild/protobuf'
import { create, fromBinary, toJson } from '@bufbuild/protobuf'
import { GroupListSchema, GroupSchema } from '@stemma/api/gen/platform/iam/group_pb.ts'
import type { ListGroupsResponseSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Code } from '../../aip/code.ts'
import { StatusError } from '../../aip/errors.ts'
import type { Call } from '../../rpc/call.ts'
import { listEvery } from './all-pages.ts'
import type { Ask } from './call-v2.ts'

const method = GroupsService.method.listGroups

/** A list of v2 that has so many pages of groups with this description, and counts how often it is asked. */
function pagesOf(pages: number, perPage: number, description = '') {
  const asked: string[] = []
  const ask = (async (_call: Call, { output }: typeof method, request: { pageToken: string }) => {
    asked.push(request.pageToken)
    const nextPageToken = asked.length < pages ? `page ${asked.length + 1}` : ''
    const groups = Array.from({ length: perPage }, (_, at) => ({ uid: `${asked.length}.${at}`, description }))
    return { message: create(output, { groups, nextPageToken }), etag: undefined }
  }) as unknown as Ask
  return { ask, asked }
}

const callOf = (form: Call['form'], deadline = Date.now() + 60_000) => ({ form, deadline }) as Call

type Page = MessageShape<typeof ListGroupsResponseSchema>

const oldGroups = ({ groups }: Page) =>
  groups.map(({ uid, description }) => create(GroupSchema, { id: uid, description }))

const list = (ask: Ask, call: Call, items = oldGroups) =>
  listEvery(ask, call, { method, request: { name: 'a' }, list: GroupListSchema, items })

const codeOf = (code: Code) => (error: unknown) => error instanceof StatusError && error.code === code

describe('every item of a list', () => {
  test('is what all pages hold, in either form', async () => {
    const { ask, asked } = pagesOf(3, 2)
    const json = JSON.parse((await list(ask, callOf('json'))).json().text)
    assert.deepEqual(asked, ['', 'page 2', 'page 3'])
    const ids = (json.items as { id: string }[]).map(({ id }) => id)
    assert.deepEqual(ids, ['1.0', '1.1', '2.0', '2.1', '3.0', '3.1'])
    const bytes = (await list(pagesOf(3, 2).ask, callOf('bytes'))).bytes()
    const { items } = toJson(GroupListSchema, fromBinary(GroupListSchema, bytes)) as {
      items: { id: string }[]
    }
    assert.deepEqual(
      items.map(({ id }) => id),
      ids,
    )
  })

  test('may be none', async () => {
    assert.equal((await list(pagesOf(1, 0).ask, callOf('json'))).json().text, '{"items":[]}')
    assert.equal((await list(pagesOf(1, 0).ask, callOf('bytes'))).bytes().length, 0)
  })

  test('is more than one answer can hold, if it is too large', async () => {
    for (const form of ['json', 'bytes'] as const) {
      const { ask, asked } = pagesOf(1000, 2, 'x'.repeat(1024 * 1024))
      await assert.rejects(list(ask, callOf(form)), codeOf(Code.RESOURCE_EXHAUSTED))
      assert.ok(asked.length <= 51)
    }
  })

  test('is more than one answer can hold, if there are too many', async () => {
    const { ask, asked } = pagesOf(Number.MAX_SAFE_INTEGER, 0)
    const many = Array.from({ length: 20_000 }, () => create(GroupSchema))
    const listing = list(ask, callOf('bytes'), () => many)
    await assert.rejects(listing, codeOf(Code.RESOURCE_EXHAUSTED))
    assert.ok(asked.length <= 51)
  })

  test('is not looked for any longer than the caller waits', async () => {
    const { ask, asked } = pagesOf(Number.MAX_SAFE_INTEGER, 1)
    await assert.rejects(list(ask, callOf('json', Date.now() + 50)), codeOf(Code.DEADLINE_EXCEEDED))
    const before = asked.length
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal(asked.length, before)
  })
})
