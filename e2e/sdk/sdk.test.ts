// The SDK against the real server: lists, streams, errors, entity tags and token sources.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Client, ConnectionOptions, Warning } from '@stemma/api'
import { Code, createClient, exchangeTokenSource, list, refreshTokenSource, StemmaError } from '@stemma/api'
import { GroupsService } from '@stemma/api/platform/iam/v2beta1/group'
import { IdentitiesService } from '@stemma/api/platform/iam/v2beta1/identity'
import { RolesService } from '@stemma/api/platform/iam/v2beta1/role'
import { RoleBindingsService } from '@stemma/api/platform/iam/v2beta1/role_binding'
import { AdvisoriesService } from '@stemma/api/platform/vulnerabilities/v2beta1/advisory'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { issueRefreshToken } from '../sign-in/refresh-token.ts'
import { addAccount, signIn } from '../sign-in/sign-in.ts'
import type { SdkPlatform } from './sdk-platform.ts'
import { importRecords, startSdkPlatform } from './sdk-platform.ts'

onEachStore('the SDK', (engine) => {
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

  /** The error of a call that must fail. */
  async function failure(call: Promise<unknown>): Promise<StemmaError> {
    const error = await call.then(
      () => assert.fail('the call should have failed'),
      (thrown: unknown) => thrown,
    )
    assert.ok(error instanceof StemmaError, String(error))
    return error
  }

  test('passes warnings of the server to onWarning', async () => {
    const warnings: Warning[] = []
    const onWarning = (warning: Warning) => warnings.push(warning)
    const identities = createClient(IdentitiesService, { ...options, onWarning })
    const awsIdentity = {
      awsAccount: '123456789012',
      awsArn: { case: 'arn', value: 'bar' },
      awsUserId: { case: 'userId', value: 'foo' },
    } as const
    const relationship = { case: 'awsIdentity', value: awsIdentity } as const
    const { uid } = await identities.createIdentity({ parent, identity: { name: 'aws', relationship } })
    assert.deepEqual(
      warnings.map(({ field }) => field),
      ['awsIdentity.arn'],
    )
    await identities.deleteIdentity({ uid })
    assert.equal(warnings.length, 1)
  })

  test('creates, reads, updates and deletes with messages', async () => {
    const made = await groups.createGroup({ parent, group: { name: 'team', description: 'a team' } })
    assert.equal(made.$typeName, 'platform.iam.v2beta1.Group')
    assert.ok(made.createTime && made.createTime.seconds > 0n)
    assert.deepEqual(await groups.getGroup({ uid: made.uid }), made)
    // An empty field is sent only if the mask names it.
    const kept = await groups.updateGroup({ group: { uid: made.uid, name: 'crew', description: '' } })
    assert.deepEqual([kept.name, kept.description], ['crew', 'a team'])
    const updateMask = { paths: ['description'] }
    const cleared = await groups.updateGroup({ group: { uid: made.uid, name: 'no' }, updateMask })
    assert.deepEqual([cleared.name, cleared.description], ['crew', ''])
    await groups.deleteGroup({ uid: made.uid })
    assert.equal((await failure(groups.getGroup({ uid: made.uid }))).code, Code.NOT_FOUND)
  })

  test('iterates over all pages of a list, and reads only the pages it needs', async () => {
    const home = (await groups.createGroup({ parent, group: { name: 'home' } })).uid
    const names = Array.from({ length: 7 }, (_, at) => `g${at}`)
    for (const name of names) await groups.createGroup({ parent: home, group: { name } })
    const request = { uidp: { childrenOf: home }, orderBy: 'name desc', pageSize: 2 }
    const all = await Array.fromAsync(list(groups.listGroups, request), ({ name }) => name)
    assert.deepEqual(all, names.toReversed())
    const afterSkip = await Array.fromAsync(
      list(groups.listGroups, { ...request, skip: 3 }),
      ({ name }) => name,
    )
    assert.deepEqual(afterSkip, names.toReversed().slice(3))

    let requests = 0
    const countingFetch: typeof fetch = (...args) => {
      requests += 1
      return fetch(...args)
    }
    const countingClient = createClient(GroupsService, { ...options, fetch: countingFetch })
    for await (const { name } of list(countingClient.listGroups, request)) if (name === 'g4') break
    assert.equal(requests, 2)
  })

  test('lists with a filter that is too long for a URL', async () => {
    const ids = [...Array<string>(300).fill(`${parent}/0123456789abcdef`), parent]
    const found = await groups.listGroups({ uidp: { ids } })
    assert.deepEqual(
      found.groups.map(({ uid }) => uid),
      [parent],
    )
  })

  test('throws typed errors', async () => {
    const wrong = await failure(groups.createGroup({ parent, group: { name: 'No Capitals' } }))
    assert.deepEqual([wrong.code, wrong.status, wrong.reason], [3, 400, 'INVALID_ARGUMENT'])
    assert.match(wrong.message, /^Invalid argument: name/)
    assert.deepEqual(
      wrong.fieldViolations.map(({ field }) => field),
      ['name'],
    )
    assert.match(wrong.requestId ?? '', /^[\w-]{8,}$/)

    const full = await groups.createGroup({ parent, group: { name: 'full' } })
    await groups.createGroup({ parent: full.uid, group: { name: 'inside' } })
    const notEmpty = await failure(groups.deleteGroup({ uid: full.uid }))
    assert.equal(notEmpty.code, Code.FAILED_PRECONDITION)
    assert.deepEqual(
      notEmpty.preconditionViolations.map(({ type }) => type),
      ['RESOURCE_NOT_EMPTY'],
    )

    const anonymous = createClient(GroupsService, { baseUrl: platform.url })
    assert.equal((await failure(anonymous.getGroup({ uid: parent }))).code, Code.UNAUTHENTICATED)
    assert.equal((await failure(groups.getGroup({ uid: 'f'.repeat(40) }))).code, Code.PERMISSION_DENIED)
    // A Get with an empty uid must not become a list request.
    assert.deepEqual((await failure(groups.getGroup({}))).fieldViolations[0]?.field, 'uid')
  })

  test('can make an update conditional on the entity tag of a read', async () => {
    const { uid } = await groups.createGroup({ parent, group: { name: 'tagged' } })
    let tag = ''
    const onHeaders = (headers: Headers) => {
      tag = headers.get('etag') ?? ''
    }
    await groups.getGroup({ uid }, { onHeaders })
    const headers = { 'if-match': tag }
    await groups.updateGroup({ group: { uid, name: 'first' } }, { headers })
    const late = await failure(groups.updateGroup({ group: { uid, name: 'second' } }, { headers }))
    assert.deepEqual([late.code, late.status], [Code.ABORTED, 412])
  })

  describe('reads a stream', () => {
    const count = 300
    const details = 'ä'.repeat(999)
    before(() => importRecords(platform, count, details))

    test('to its end', async () => {
      const advisories = createClient(AdvisoriesService, options)
      const documents = await Array.fromAsync(advisories.exportAdvisoriesOsv({}))
      assert.equal(documents.length, count)
      assert.equal(documents[0]?.details, details)
    })

    test('and can stop early; an invalid request fails at the first read', async () => {
      const advisories = createClient(AdvisoriesService, options)
      let read = 0
      for await (const _ of advisories.exportAdvisoriesOsv({})) if (++read === 5) break
      assert.equal(read, 5)
      const refused = advisories.exportAdvisoriesOsv({ uidp: { childrenOf: 'nowhere' } }).next()
      assert.equal((await failure(refused)).code, Code.INVALID_ARGUMENT)
    })
  })

  describe('gets its tokens', () => {
    test('by exchanging a token of another issuer, once for many calls', async () => {
      const identities = createClient(IdentitiesService, options)
      const claimMatch = {
        iss: { case: 'issuer', value: issuer.issuer },
        sub: { case: 'subject', value: 'robot' },
      } as const
      const identity = await identities.createIdentity({
        parent,
        identity: { name: 'ci', relationship: { case: 'claimMatch', value: claimMatch } },
      })
      const roles = createClient(RolesService, options)
      const [viewer] = await Array.fromAsync(list(roles.listRoles, { name: 'viewer' }))
      const roleBinding = { identityUid: identity.uid, roleUid: viewer?.uid ?? '' }
      await createClient(RoleBindingsService, options).createRoleBinding({ parent, roleBinding })

      let tokenReads = 0
      const subject = () => {
        tokenReads += 1
        return issuer.sign({ aud: platform.config.authUrl })
      }
      const connection = { baseUrl: platform.url }
      const token = exchangeTokenSource({ issuer: connection, subject, identity: identity.uid })
      const robot = createClient(GroupsService, { baseUrl: platform.url, token })
      await Promise.all(Array.from({ length: 5 }, () => robot.getGroup({ uid: parent })))
      await robot.getGroup({ uid: parent })
      assert.equal(tokenReads, 1)

      const stranger = exchangeTokenSource({
        issuer: connection,
        subject: await issuer.sign({ sub: 'x', aud: platform.config.authUrl }),
        identity: identity.uid,
      })
      const strangerClient = createClient(GroupsService, { baseUrl: platform.url, token: stranger })
      assert.equal((await failure(strangerClient.getGroup({ uid: parent }))).code, Code.PERMISSION_DENIED)
    })

    test('by a refresh token in the format of published clients, and reports the new one', async () => {
      const refreshToken = await issueRefreshToken(platform, platform.owner.identity)
      await assertRefreshes({ issuer: { baseUrl: platform.url }, refreshToken })
    })

    test('by the refresh token of a person who signed in', async () => {
      await addAccount(platform, 'ada@example.com')
      const { tokens } = await signIn(platform, 'ada@example.com')
      const refreshToken = tokens.refresh_token ?? ''
      await assertRefreshes({ issuer: { baseUrl: platform.url }, refreshToken, clientId: 'stemma' })
    })

    /**
     * Checks that five concurrent calls use the refresh token only once, and that another program
     * with the same refresh token gets the same new one.
     */
    async function assertRefreshes(options: Parameters<typeof refreshTokenSource>[0]): Promise<void> {
      const newTokens: string[] = []
      const token = refreshTokenSource({ ...options, onRefreshToken: (next) => newTokens.push(next) })
      const client = createClient(GroupsService, { baseUrl: platform.url, token })
      await Promise.all(Array.from({ length: 5 }, () => client.listGroups({})))
      assert.equal(newTokens.length, 1)
      assert.notEqual(newTokens[0], options.refreshToken)
      const otherTokens: string[] = []
      const other = refreshTokenSource({ ...options, onRefreshToken: (next) => otherTokens.push(next) })
      await createClient(GroupsService, { baseUrl: platform.url, token: other }).listGroups({})
      assert.deepEqual(otherTokens, newTokens)
    }
  })
})
