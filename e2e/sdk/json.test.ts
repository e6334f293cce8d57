// The JSON client of the SDK against the real server: where it differs from the client that uses protobuf messages.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client, ConnectionOptions } from '@stemma/api/json'
import {
  Code,
  createClient,
  exchangeTokenSource,
  list,
  refreshTokenSource,
  StemmaError,
} from '@stemma/api/json'
import type { GroupJson } from '@stemma/api/json/platform/iam/v2beta1/group'
import { GroupsService } from '@stemma/api/json/platform/iam/v2beta1/group'
import { IdentitiesService } from '@stemma/api/json/platform/iam/v2beta1/identity'
import { RolesService } from '@stemma/api/json/platform/iam/v2beta1/role'
import { RoleBindingsService } from '@stemma/api/json/platform/iam/v2beta1/role_binding'
import { AdvisoriesService } from '@stemma/api/json/platform/vulnerabilities/v2beta1/advisory'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { issueRefreshToken } from '../sign-in/refresh-token.ts'
import type { SdkPlatform } from './sdk-platform.ts'
import { importRecords, startSdkPlatform } from './sdk-platform.ts'

onEachStore('the SDK with JSON', (engine) => {
  let setUp: SdkPlatform
  let issuer: ForeignIssuer
  let platform: Platform
  let options: ConnectionOptions
  let groups: Client<typeof GroupsService>
  let parent: string
  before(async () => {
    setUp = await startSdkPlatform(engine)
    ;({ issuer, platform } = setUp)
    options = { baseUrl: platform.url, token: platform.owner.token }
    groups = createClient(GroupsService, options)
    parent = platform.owner.organization
  })
  after(() => setUp.stop())

  const isError = (code: Code, field?: string) => {
    return (error: unknown) => {
      assert.ok(error instanceof StemmaError, String(error))
      assert.deepEqual([error.code, error.fieldViolations[0]?.field], [code, field], error.message)
      assert.match(error.requestId ?? '', /^[\w-]{8,}$/)
      return true
    }
  }

  test('creates, reads, updates and deletes', async () => {
    const made: GroupJson = await groups.createGroup({ parent, group: { name: 'team', description: 'a' } })
    assert.match(made.createTime ?? '', /^\d{4}-\d\d-\d\dT/)
    assert.deepEqual(await groups.getGroup({ uid: made.uid }), made)
    // An update without a mask changes every field in the body, even to an empty value.
    const cleared = await groups.updateGroup({ group: { uid: made.uid, description: '' } })
    assert.deepEqual([cleared.name, cleared.description], ['team', ''])
    const group = { uid: made.uid, name: 'crew', description: 'no' }
    const masked = await groups.updateGroup({ group, updateMask: 'name' })
    assert.deepEqual([masked.name, masked.description], ['crew', ''])
    assert.deepEqual(await groups.deleteGroup({ uid: made.uid }), {})
    await assert.rejects(groups.getGroup({ uid: made.uid }), isError(Code.NOT_FOUND))
  })

  test('has types that reject unknown fields, values and methods', async () => {
    // @ts-expect-error no such field
    const unknownField = () => groups.createGroup({ parent, grup: { name: 'a' } })
    // @ts-expect-error no such field in a group
    const unknownNestedField = () => groups.createGroup({ parent, group: { nam: 'a' } })
    // @ts-expect-error a name is not a number
    const numberAsName = () => groups.createGroup({ parent, group: { name: 7 } })
    const objectAsMask = () =>
      // @ts-expect-error a mask is a string in JSON
      groups.updateGroup({ group: { uid: 'f'.repeat(40) }, updateMask: { paths: ['name'] } })
    // @ts-expect-error no such call
    const unknownCall = () => groups.makeGroup({})
    // A caller without type checks gets these errors.
    await assert.rejects(unknownField, isError(Code.INVALID_ARGUMENT, 'grup.name'))
    await assert.rejects(unknownNestedField, isError(Code.INVALID_ARGUMENT, 'name'))
    await assert.rejects(numberAsName, isError(Code.INVALID_ARGUMENT, 'name'))
    await assert.rejects(objectAsMask, isError(Code.INVALID_ARGUMENT, 'updateMask.paths'))
    assert.throws(unknownCall, TypeError)
    await assert.rejects(list(groups.getGroup, { uid: parent }).next(), /is not a list/)
  })

  test('iterates over all pages of a list, starting after skip', async () => {
    const { uid: home } = await groups.createGroup({ parent, group: { name: 'home' } })
    const names = Array.from({ length: 7 }, (_, at) => `g${at}`)
    for (const name of names) await groups.createGroup({ parent: home, group: { name } })
    const request = { uidp: { childrenOf: home }, orderBy: 'name', pageSize: 2 }
    const all = await Array.fromAsync(list(groups.listGroups, request), ({ name }) => name)
    assert.deepEqual(all, names)
    const afterSkip = await Array.fromAsync(
      list(groups.listGroups, { ...request, skip: 3 }),
      ({ name }) => name,
    )
    assert.deepEqual(afterSkip, names.slice(3))
    const { totalCount } = await groups.listGroups(request)
    assert.equal(totalCount, '7')
  })

  test('reads a stream and can stop early', async () => {
    const advisories = createClient(AdvisoriesService, options)
    await importRecords(platform, 50)
    const ids = await Array.fromAsync(advisories.exportAdvisoriesOsv({}), ({ id }) => id)
    assert.deepEqual(ids.toSorted(), Array.from({ length: 50 }, (_, at) => `GHSA-${at}`).toSorted())
    let read = 0
    for await (const _ of advisories.exportAdvisoriesOsv({})) if (++read === 5) break
    assert.equal(read, 5)
    const refused = advisories.exportAdvisoriesOsv({ uidp: { childrenOf: 'nowhere' } }).next()
    await assert.rejects(refused, isError(Code.INVALID_ARGUMENT, 'uidp.childrenOf'))
  })

  test('throws typed errors, and supports signals and entity tags', async () => {
    const wrong = groups.createGroup({ parent, group: { name: 'No Capitals' } })
    await assert.rejects(wrong, isError(Code.INVALID_ARGUMENT, 'name'))
    const anonymous = createClient(GroupsService, { baseUrl: platform.url })
    await assert.rejects(anonymous.getGroup({ uid: parent }), isError(Code.UNAUTHENTICATED))
    await assert.rejects(groups.getGroup({}), isError(Code.INVALID_ARGUMENT, 'uid'))
    const signal = AbortSignal.abort(new Error('never'))
    await assert.rejects(groups.getGroup({ uid: parent }, { signal }), /never/)
    const { uid } = await groups.createGroup({ parent, group: { name: 'tagged' } })
    let tag = ''
    const onHeaders = (headers: Headers) => {
      tag = headers.get('etag') ?? ''
    }
    await groups.getGroup({ uid }, { onHeaders })
    const headers = { 'if-match': tag }
    await groups.updateGroup({ group: { uid, name: 'first' } }, { headers })
    const late = groups.updateGroup({ group: { uid, name: 'second' } }, { headers })
    await assert.rejects(late, isError(Code.ABORTED))
  })

  test('gets tokens by exchange and refresh', async () => {
    const identity = await createClient(IdentitiesService, options).createIdentity({
      parent,
      identity: { name: 'ci', claimMatch: { issuer: issuer.issuer, subject: 'robot' } },
    })
    const [viewer] = await Array.fromAsync(
      list(createClient(RolesService, options).listRoles, { name: 'viewer' }),
    )
    const roleBinding = { identityUid: identity.uid, roleUid: viewer?.uid }
    await createClient(RoleBindingsService, options).createRoleBinding({ parent, roleBinding })
    const connection = { baseUrl: platform.url }
    const subject = () => issuer.sign({ aud: platform.config.authUrl })
    const token = exchangeTokenSource({ issuer: connection, subject, identity: identity.uid })
    assert.equal(
      (await createClient(GroupsService, { ...connection, token }).getGroup({ uid: parent })).uid,
      parent,
    )

    const refreshToken = await issueRefreshToken(platform, platform.owner.identity)
    const newTokens: string[] = []
    const source = refreshTokenSource({
      issuer: connection,
      refreshToken,
      onRefreshToken: (next) => newTokens.push(next),
    })
    const client = createClient(GroupsService, { ...connection, token: source })
    await Promise.all(Array.from({ length: 5 }, () => client.getGroup({ uid: parent })))
    assert.equal(newTokens.length, 1)
  })
})
