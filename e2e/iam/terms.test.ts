// Terms: documents that are listed in a setting of the server, and that groups accept.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { Terms } from '@stemma/api/gen/platform/iam/terms_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { TermsService } from '@stemma/api/gen/platform/iam/v2beta1/terms_pb.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { sealedEvents } from '../../server/testing/sealed-events.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { detail, violations } from '../contract/examples.ts'

const { acceptTerms, listTermsAcceptances } = TermsService.method
const { createGroup, deleteGroup } = GroupsService.method
const documents = ['--terms', 'tou.v1=https://example.com/terms, privacy.v2 ,dpa']

onEachStore('terms', (engine) => {
  let platform: Platform
  let doors: Door[] = []
  before(async () => {
    platform = await startPlatform(engine, documents)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  async function succeed(door: Door, method: DescMethod, request: JsonObject, token: string) {
    const { body, error } = await door.call(method, request, token)
    assert.ok(body, `${door.name} ${method.name}: ${error?.message}`)
    return body
  }
  const errorOf = async (door: Door, method: DescMethod, request: JsonObject, token: string) => {
    const { error } = await door.call(method, request, token)
    assert.ok(error, `${door.name} ${method.name} should have failed`)
    return error
  }
  const accept = (door: Door, group: string, token: string, ...documentIds: string[]) =>
    succeed(door, acceptTerms, { group, documentIds }, token)
  const list = async (door: Door, { organization, token }: TestIdentity, request: JsonObject = {}) => {
    const page = await succeed(door, listTermsAcceptances, { group: organization, ...request }, token)
    const termsAcceptances = page.termsAcceptances as JsonObject[]
    const { totalCount, nextPageToken, skipped } = page
    const ids = termsAcceptances.map(({ docId }) => docId as string)
    return { totalCount, nextPageToken, skipped, termsAcceptances, ids }
  }

  test('are accepted by an owner, once, and the record says by whom and when', async () => {
    for (const door of doors) {
      const owner = await platform.addOrganization('acme')
      const { organization: group, identity, token } = owner
      assert.equal((await list(door, owner)).totalCount, '0')
      const accepted = await accept(door, group, token, 'tou.v1', 'dpa', 'tou.v1')
      assert.deepEqual(accepted, { group, documentIds: ['tou.v1', 'dpa'] })
      const first = await list(door, owner)
      assert.deepEqual(first.ids, ['dpa', 'tou.v1'])
      const [record] = first.termsAcceptances
      assert.deepEqual([record?.acceptedBy, record?.orgUid], [identity, group])
      assert.match(String(record?.createTime), /^\d{4}-.*Z$/)
      const colleague = await platform.addIdentity(group, 'owner')
      await accept(door, group, colleague.token, 'dpa')
      assert.deepEqual((await list(door, owner)).termsAcceptances, first.termsAcceptances)
      await accept(door, group, colleague.token, 'dpa', 'privacy.v2')
      const events = (await sealedEvents(platform.store, group)).filter(({ action }) => action === 'accepted')
      assert.deepEqual(
        events.map(({ details }) => JSON.parse(details ?? '{}').documentIds),
        [['tou.v1', 'dpa'], ['privacy.v2']],
      )
      await platform.unbind(identity)
      await platform.deleteIdentity(identity)
      const kept = await list(door, { ...colleague, organization: group })
      assert.deepEqual(
        kept.termsAcceptances.filter(({ docId }) => docId !== 'privacy.v2'),
        first.termsAcceptances,
      )
    }
  })

  test('of the groups above are listed too, with paging and ordering', async () => {
    for (const door of doors) {
      const owner = await platform.addOrganization('acme')
      const { organization, token } = owner
      const team = (await succeed(door, createGroup, { parent: organization, group: { name: 'a' } }, token))
        .uid as string
      await accept(door, organization, token, 'tou.v1', 'privacy.v2')
      await accept(door, team, token, 'dpa', 'tou.v1')
      const inTeam = { ...owner, organization: team }
      assert.deepEqual((await list(door, owner)).ids, ['privacy.v2', 'tou.v1'])
      const all = ['privacy.v2', 'tou.v1', 'dpa', 'tou.v1']
      assert.deepEqual((await list(door, inTeam)).ids, all)
      for (const [orderBy, expected] of [
        ['doc_id desc', ['tou.v1', 'tou.v1', 'privacy.v2', 'dpa']],
        ['org_uid desc,doc_id', ['dpa', 'tou.v1', 'privacy.v2', 'tou.v1']],
      ] as const) {
        const ids: unknown[] = []
        for (let pageToken = ''; ; ) {
          const page = await list(door, inTeam, { orderBy, pageSize: 1, pageToken })
          assert.equal(page.totalCount, '4')
          ids.push(...page.ids)
          pageToken = String(page.nextPageToken ?? '')
          if (pageToken === '') break
        }
        assert.deepEqual(ids, expected, orderBy)
      }
      const skipped = await list(door, inTeam, { skip: 3 })
      assert.deepEqual([skipped.ids, skipped.skipped], [['tou.v1'], 3])
      assert.deepEqual((await list(door, inTeam, { skip: 9 })).ids, [])
      const foreign = (await list(door, inTeam, { pageSize: 1 })).nextPageToken as string
      for (const bad of [
        { orderBy: 'name' },
        { pageToken: 'x' },
        { pageToken: foreign, orderBy: 'doc_id' },
      ]) {
        const error = await errorOf(door, listTermsAcceptances, { group: team, ...bad }, token)
        assert.equal(error.code, 3)
      }
      await succeed(door, deleteGroup, { uid: team }, token)
      const rows = await platform.store.query(sql`select place from terms_acceptances where place = ${team}`)
      assert.deepEqual(rows, [])
    }
  })

  test('that the operator has not named are refused, and the error lists those that exist', async () => {
    for (const door of doors) {
      const { organization: group, token } = await platform.addOrganization('acme')
      const error = await errorOf(door, acceptTerms, { group, documentIds: ['dpa', 'tou.v2'] }, token)
      assert.deepEqual([error.code, violations(error)], [3, ['documentIds']])
      assert.match(error.message, /tou\.v1 \(https:\/\/example\.com\/terms\), privacy\.v2, dpa/)
      assert.equal((await list(door, { organization: group, identity: '', token })).totalCount, '0')
      assert.equal((await errorOf(door, acceptTerms, { group, documentIds: [] }, token)).code, 3)
      const tooMany = { group, documentIds: Array(51).fill('dpa') as string[] }
      assert.equal((await errorOf(door, acceptTerms, tooMany, token)).code, 3)
    }
  })

  test('cannot be accepted or listed without access, which is checked before the request is validated', async () => {
    for (const door of doors) {
      const { organization: group, token } = await platform.addOrganization('acme')
      const stranger = await platform.addOrganization('others')
      const editor = await platform.addIdentity(group, 'editor')
      const missing = `${group}/${'0'.repeat(16)}`
      const request = { group, documentIds: ['unknown'] }
      for (const caller of [stranger, editor])
        assert.equal((await errorOf(door, acceptTerms, request, caller.token)).code, 7)
      assert.equal((await errorOf(door, listTermsAcceptances, { group }, stranger.token)).code, 7)
      assert.equal((await errorOf(door, listTermsAcceptances, { group: missing }, stranger.token)).code, 7)
      assert.equal((await errorOf(door, listTermsAcceptances, { group: missing }, token)).code, 5)
      const inMissing = { group: missing, documentIds: ['dpa'] }
      assert.equal((await errorOf(door, acceptTerms, inMissing, token)).code, 5)
    }
  })

  test('have the same records in v1', async () => {
    for (const door of doors) {
      const { organization: group, identity, token } = await platform.addOrganization('acme')
      const accepted = await succeed(door, Terms.method.acceptTerms, { group, documentIds: ['dpa'] }, token)
      assert.deepEqual(accepted, { group, documentIds: ['dpa'] })
      const { items } = await succeed(door, Terms.method.listAccepted, { group }, token)
      const [{ createTime }] = (await list(door, { organization: group, identity, token }))
        .termsAcceptances as [JsonObject]
      assert.deepEqual(items, [{ docId: 'dpa', acceptedBy: identity, acceptedAt: createTime }])
    }
  })

  describe('of an operator who has set none', () => {
    let plain: Platform
    before(async () => {
      plain = await startPlatform(engine)
    })
    after(() => plain.stop())

    test('cannot be accepted, and the list is empty', async () => {
      for (const door of [restDoor(plain.url), grpcDoor(plain.url)]) {
        const { organization: group, token } = plain.owner
        const request = { group, documentIds: ['tou.v1'] }
        const error = await errorOf(door, acceptTerms, request, token)
        assert.equal(error.code, 9)
        const [violation] = detail(error, 'PreconditionFailure')?.violations as [JsonObject]
        assert.equal(violation.type, 'NO_TERMS')
        assert.match(error.message, /has set no documents/)
        const v1Error = await errorOf(door, Terms.method.acceptTerms, request, token)
        assert.deepEqual([v1Error.code, detail(v1Error, 'PreconditionFailure')], [9, undefined])
        assert.equal((await list(door, plain.owner)).totalCount, '0')
        door.close()
      }
    })
  })
})
