// Writing advisories: generated ids, concurrent callers, entity tags, and enum numbers that only gRPC can send.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { violations } from '../contract/examples.ts'

const { create, delete: withdraw } = Advisories.method
const { createAdvisoryEvent, listAdvisoryEvents, updateAdvisoryEvent } = Advisories.method
const { getAdvisory, listAdvisories } = AdvisoriesService.method

const advisory = { artifactName: 'static', artifactType: 'apk', aliases: ['CVE-2026-12345'] }
/** One number for each call that a test makes concurrently. */
const callNumbers = [...Array(24).keys()]

onEachStore('writes of advisories', (engine) => {
  let platform: Platform
  let [rest, grpc]: Door[] = []
  before(async () => {
    platform = await startPlatform(engine)
    rest = restDoor(platform.url)
    grpc = grpcDoor(platform.url)
  })
  after(async () => {
    grpc?.close()
    await platform.stop()
  })

  /** Calls over gRPC if `callNumber` is odd, so that concurrent calls use both doors. */
  const call = (method: Parameters<Door['call']>[0], request: JsonObject, callNumber = 0) =>
    ((callNumber % 2 ? grpc : rest) as Door).call(method, request, platform.owner.token)
  const succeed = async (method: Parameters<Door['call']>[0], request: JsonObject, callNumber = 0) => {
    const { body, error } = await call(method, request, callNumber)
    assert.ok(body, error?.message)
    return body
  }
  const make = async (otherFields: JsonObject = {}, callNumber = 0) => {
    const request = { parentId: platform.owner.organization, advisory: { ...advisory, ...otherFields } }
    return (await succeed(create, request, callNumber)) as JsonObject & { id: string }
  }
  const assertTally = async () => assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])

  test('concurrent creates get different ids', async () => {
    const made = await Promise.all(callNumbers.map((callNumber) => make({}, callNumber)))
    const ids = new Set(made.map(({ advisoryId }) => advisoryId as string))
    assert.equal(ids.size, callNumbers.length)
    for (const id of ids) assert.match(id, /^CGA(?:-[23456789cfghjmpqrvwx]{4}){3}$/)
    const { body } = await call(listAdvisories, { aliases: advisory.aliases, advisoryIds: [...ids] }, 1)
    assert.equal(body?.totalCount, String(callNumbers.length))
    await assertTally()
  })

  test('of concurrent creates with the same id, only one succeeds', async () => {
    const advisoryId = 'CGA-2345-6789-cfgh'
    const request = { parentId: platform.owner.organization, advisory: { ...advisory, advisoryId } }
    const answers = await Promise.all(callNumbers.map((callNumber) => call(create, request, callNumber)))
    const codes = answers.map(({ error }) => error?.code ?? 0).sort()
    assert.deepEqual(codes, [0, ...callNumbers.slice(1).map(() => 6)])
    await assertTally()
  })

  test('events that are added or changed concurrently are all kept', async () => {
    const { id } = await make()
    const events = await Promise.all(
      callNumbers.map((callNumber) =>
        call(
          createAdvisoryEvent,
          { parentId: id, advisoryEvent: { fixed: { note: `${callNumber}` } } },
          callNumber,
        ),
      ),
    )
    await Promise.all(
      events.map(({ body }, callNumber) =>
        call(
          updateAdvisoryEvent,
          { id: body?.id as string, fixNotPlanned: { note: `${callNumber}` } },
          callNumber,
        ),
      ),
    )
    const { items } = await succeed(listAdvisoryEvents, { parentId: id })
    const notes = (items as { fixNotPlanned: JsonObject }[]).map(({ fixNotPlanned }) => fixNotPlanned.note)
    assert.deepEqual(
      notes.map(Number).sort((a, b) => a - b),
      callNumbers,
    )
    assert.equal(new Set((items as { id: string }[]).map((event) => event.id)).size, callNumbers.length)
  })

  test('of concurrent withdrawals only one succeeds, and no event is added afterwards', async () => {
    const { id } = await make({ aliases: ['CVE-2026-777'] })
    const [withdrawals, additions] = await Promise.all([
      Promise.all(callNumbers.map((callNumber) => call(withdraw, { id }, callNumber))),
      Promise.all(
        callNumbers.map((callNumber) =>
          call(createAdvisoryEvent, { parentId: id, advisoryEvent: { fixed: {} } }, callNumber),
        ),
      ),
    ])
    const codes = withdrawals.map(({ error }) => error?.code ?? 0).sort()
    assert.deepEqual(codes, [0, ...callNumbers.slice(1).map(() => 5)])
    const added = additions.filter(({ body }) => body).length
    const { deleteTime, events } = await succeed(getAdvisory, { uid: id })
    assert.ok(deleteTime)
    assert.equal((events as unknown[]).length, added)
    assert.equal((await call(listAdvisories, { aliases: ['CVE-2026-777'] })).body?.totalCount, '0')
    await assertTally()
  })

  test('the id of an advisory cannot be used again while the advisory is being withdrawn', async () => {
    for (const letter of 'cfghjmpq') {
      const advisoryId = `CGA-2222-3333-444${letter}`
      const { id } = await make({ advisoryId })
      const request = { parentId: platform.owner.organization, advisory: { ...advisory, advisoryId } }
      const [withdrawn, ...creates] = await Promise.all([
        call(withdraw, { id }, 0),
        ...callNumbers.map((callNumber) => call(create, request, callNumber)),
      ])
      assert.equal(withdrawn.error, undefined)
      assert.deepEqual(
        creates.map(({ error }) => error?.code),
        callNumbers.map(() => 6),
      )
    }
    await assertTally()
  })

  test('many advisories can be withdrawn at the same time', async () => {
    const made = await Promise.all(
      callNumbers.map((callNumber) => make({ aliases: ['CVE-2026-888'] }, callNumber)),
    )
    const answers = await Promise.all(made.map(({ id }, callNumber) => call(withdraw, { id }, callNumber)))
    assert.deepEqual(
      answers.map(({ error }) => error?.message),
      callNumbers.map(() => undefined),
    )
    await assertTally()
  })

  test('updates and withdrawals with an outdated If-Match header are refused', async () => {
    const headers = { authorization: `Bearer ${platform.owner.token}`, 'content-type': 'application/json' }
    const advisoriesUrl = `${platform.url}/vulnerabilities/v1/advisories`
    const body = (otherFields: JsonObject) => JSON.stringify({ ...advisory, ...otherFields })
    const made = await fetch(advisoriesUrl, {
      ...{ method: 'POST', headers },
      body: JSON.stringify({ parentId: platform.owner.organization, advisory }),
    })
    const { id } = (await made.json()) as { id: string }
    const firstTag = made.headers.get('etag') ?? ''
    const read = await fetch(`${platform.url}/vulnerabilities/v2beta1/advisories/${id}`, { headers })
    assert.equal(read.headers.get('etag'), firstTag, 'v1 and v2 return the same entity tag')
    const put = (ifMatch: string, otherFields: JsonObject) =>
      fetch(`${advisoriesUrl}/${id}`, {
        method: 'PUT',
        headers: { ...headers, 'if-match': ifMatch },
        body: body(otherFields),
      })
    const changed = await put(firstTag, { artifactType: 'npm' })
    assert.equal(changed.status, 200)
    const secondTag = changed.headers.get('etag') ?? ''
    assert.notEqual(secondTag, firstTag)
    assert.equal((await put(firstTag, { artifactType: 'go' })).status, 412)
    const remove = (ifMatch: string) =>
      fetch(`${advisoriesUrl}/${id}`, { method: 'DELETE', headers: { ...headers, 'if-match': ifMatch } })
    assert.equal((await remove(firstTag)).status, 412)
    assert.equal((await remove(secondTag)).status, 200)
  })

  test('unknown enum numbers are refused', async () => {
    const { id } = await make()
    for (const [advisoryEvent, field] of [
      [{ fixed: {}, status: 9 }, 'advisoryEvent.status'],
      [{ falsePositiveDetermination: { type: 8 } }, 'advisoryEvent.falsePositiveDetermination.type'],
    ] as const) {
      const { error } = await call(createAdvisoryEvent, { parentId: id, advisoryEvent }, 1)
      assert.ok(error)
      assert.deepEqual(violations(error), [field])
    }
    const writer = await platform.addIdentityWith(platform.owner.organization, ['CAP_ADVISORIES_CREATE'])
    const request = { parentId: id, advisoryEvent: { fixed: {}, status: 9 } }
    const { error } = await (grpc as Door).call(createAdvisoryEvent, request, writer.token)
    assert.equal(error?.code, 7, 'a status other than pending requires advisories.approve')
  })

  test('an event without a time gets the create time of its advisory', async () => {
    const { id } = await make({ events: [{ timestamp: '1970-01-01T00:00:00Z', fixed: {} }, { fixed: {} }] })
    const { items } = await succeed(listAdvisoryEvents, { parentId: id }, 1)
    const [first, second] = items as { timestamp: string }[]
    assert.equal(first?.timestamp, '1970-01-01T00:00:00.000Z')
    const { createTime } = await succeed(getAdvisory, { uid: id }, 1)
    assert.equal(second?.timestamp, createTime)
  })
})
