// Attacks on IAM by callers with few capabilities or none.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '@bufbuild/protobuf'
import { AuditEntriesService } from '@stemma/api/gen/platform/audit/v2beta1/audit_entry_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import pg from 'pg'
import { verifyOrganization } from '../../server/commands/verify.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { examples, make, violations } from '../contract/examples.ts'

const { createIdentity, updateIdentity, deleteIdentity, getIdentity } = IdentitiesService.method
const { createRoleBinding, listRoleBindings, getRoleBinding } = RoleBindingsService.method
const { createIdentityProvider, updateIdentityProvider } = IdentityProvidersService.method
const { createAccountAssociation } = AccountAssociationsService.method
const { createRole, updateRole } = RolesService.method
const { getAuditEntry, listAuditEntries } = AuditEntriesService.method
const { exchange } = SecurityTokenService.method
const { createGroup, deleteGroup, requestGroupAccess, listGroups } = GroupsService.method

const claimMatch = { issuer: 'https://issuer.test', subject: 'robot' }
const viewer = builtInRole('viewer').uid
/** In a transaction, PostgreSQL reads the list of activities only once, unless it is told to forget it. */
const callsWaitingForLock = `select 1 from pg_stat_clear_snapshot(), pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`

examples('attacks on IAM', {
  async 'patterns that are expensive to compile are refused'({ fail, owner }) {
    const bomb = '[\\pL\\pN]{1000}'.repeat(30)
    const claimPatterns = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`claim${at}`, bomb]))
    const identity = { name: 'bomb', claimMatch: { ...claimMatch, claimPatterns } }
    const error = await fail(createIdentity, { parent: owner.organization, identity })
    assert.equal(violations(error).length, 20)
  },

  async 'an identity that is bound in another organization can be deleted'(stage) {
    const { platform, owner, succeed, fail } = stage
    const uid = await make(stage, createIdentity, {
      parent: owner.organization,
      identity: { name: 'robot', claimMatch },
    })
    // A guest who may see the identity binds it in their own organization, and then loses access.
    const rival = await platform.addOrganization('rival')
    await platform.bind(rival.identity, 'viewer', owner.organization)
    const roleBinding = { identityUid: uid, roleUid: builtInRole('owner').uid }
    const foreignBinding = await succeed(
      createRoleBinding,
      { parent: rival.organization, roleBinding },
      rival.token,
    )
    await platform.unbind(rival.identity, owner.organization)
    const change = { identity: { uid, claimMatch: { subject: 'rotated' } } }
    assert.equal(((await succeed(updateIdentity, change)).claimMatch as JsonObject).subject, 'rotated')
    assert.equal((await succeed(listRoleBindings, { identity: uid })).totalCount, '0')
    assert.deepEqual(await succeed(deleteIdentity, { uid }), {})
    assert.equal((await fail(getRoleBinding, { uid: foreignBinding.uid as string }, rival.token)).code, 5)
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
  },

  async 'the error of a refused update does not reveal role bindings in other organizations'(stage) {
    const { platform, owner, fail } = stage
    const uid = await make(stage, createIdentity, {
      parent: owner.organization,
      identity: { name: 'robot', claimMatch },
    })
    await platform.bind(uid, 'owner', owner.organization)
    const rival = await platform.addOrganization('rival')
    await platform.bind(uid, 'owner', rival.organization)
    const updater = await platform.addIdentityWith(owner.organization, ['CAP_IAM_IDENTITY_UPDATE'])
    const change = { identity: { uid, claimMatch: { subject: 'mine' } } }
    const error = await fail(updateIdentity, change, updater.token)
    assert.equal(error.code, 7)
    assert.ok(!JSON.stringify(error).includes(rival.organization))
  },

  async 'an administrator of a sub-group cannot take over an identity that is bound in another organization'(
    stage,
  ) {
    const { platform, owner, fail, succeed } = stage
    const team = await make(stage, createGroup, { parent: owner.organization, group: { name: 'team' } })
    const uid = await make(stage, createIdentity, { parent: team, identity: { name: 'robot', claimMatch } })
    const updater = await platform.addIdentityWith(team, ['CAP_IAM_IDENTITY_UPDATE'])
    const change = { identity: { uid, claimMatch: { subject: 'mine' } } }
    await succeed(updateIdentity, change, updater.token)
    const rival = await platform.addOrganization('rival')
    await platform.bind(uid, 'owner', rival.organization)
    const changeAgain = { identity: { uid, claimMatch: { subject: 'back' } } }
    const error = await fail(updateIdentity, changeAgain, updater.token)
    assert.equal(error.code, 7)
    assert.ok(!JSON.stringify(error).includes(rival.organization))
    await succeed(updateIdentity, changeAgain)
  },

  async 'a stored client secret is not sent to a changed issuer'(stage) {
    const oidc = { issuer: 'https://sso.test', clientId: 'stemma', clientSecret: 'hush' }
    const uid = await make(stage, createIdentityProvider, {
      parent: stage.owner.organization,
      identityProvider: { name: 'sso', defaultRole: viewer, oidc },
    })
    const changeIssuer = (oidcFields: JsonObject) => ({
      identityProvider: { uid, oidc: { issuer: 'https://evil.test', ...oidcFields } },
    })
    const error = await stage.fail(updateIdentityProvider, changeIssuer({}))
    assert.deepEqual(violations(error), ['oidc.clientSecret'])
    await stage.succeed(updateIdentityProvider, changeIssuer({ clientSecret: 'another' }))
  },

  async 'malformed key sets are stored, and cause no fault when they are used'({
    platform,
    succeed,
    call,
    owner,
  }) {
    const curve = { kty: 'EC', crv: { toString: 1 }, x: 'AA', y: 'AA' }
    const huge = { kty: 'RSA', e: 'AQAB', n: Buffer.alloc(9000, 255).toString('base64url') }
    const malformed = [
      { keys: [curve] },
      { keys: [null] },
      { keys: [[]] },
      { keys: [huge] },
      { keys: {} },
      [],
      1,
      null,
    ]
    for (const keys of malformed) {
      const staticKeys = { issuer: 'https://offline.test', subject: 'ci', issuerKeys: JSON.stringify(keys) }
      const request = { parent: owner.organization, identity: { name: 'odd', staticKeys } }
      const { uid } = (await succeed(createIdentity, request)) as { uid: string }
      // Only a caller whose token has the subject of the identity gets an error about the keys.
      for (const [sub, text] of [
        ['ci', /static_keys\.issuer_keys .* no usable public key/],
        ['stranger', /no identity can be assumed with this token$/],
      ] as const) {
        const token = [
          { alg: 'ES256' },
          { iss: 'https://offline.test', sub, aud: platform.config.authUrl },
          {},
        ]
          .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
          .join('.')
        const { error } = await call(exchange, { identity: uid }, token)
        assert.equal(error?.code, 7)
        assert.match(error.message, text)
      }
    }
  },

  async 'error details are limited in number and length'({ fail, owner, succeed }) {
    const long = (at: number) => `${at}${'é'.repeat(1000)}`
    const claimPatterns = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [long(at), '(']))
    const identity = { name: 'long', claimMatch: { ...claimMatch, claimPatterns } }
    const error = await fail(createIdentity, { parent: owner.organization, identity })
    assert.ok(JSON.stringify(error).length < 16_000)
    const serviceBindings = { [long(0)]: 'nobody' }
    const association = { name: 'long', chainguard: { serviceBindings } }
    const associationError = await fail(createAccountAssociation, {
      parent: owner.organization,
      accountAssociation: association,
    })
    assert.ok(JSON.stringify(associationError).length < 4000)
    await succeed(listGroups, {})
  },

  async 'map keys such as __proto__ are ordinary keys'(stage) {
    const claims = JSON.parse('{"__proto__":"x","constructor":"y","toString":"z"}')
    const identity = { name: 'odd', claimMatch: { ...claimMatch, claims } }
    const uid = await make(stage, createIdentity, { parent: stage.owner.organization, identity })
    const { claimMatch: stored } = (await stage.succeed(getIdentity, { uid })) as { claimMatch: JsonObject }
    assert.deepEqual(Object.entries(stored.claims as JsonObject), Object.entries(claims))
  },

  async 'changes of map keys such as __proto__ are in the audit log'(stage) {
    const identity = { name: 'odd', claimMatch: { ...claimMatch, claims: { kept: 'k' } } }
    const uid = await make(stage, createIdentity, { parent: stage.owner.organization, identity })
    const claims = JSON.parse('{"kept":"k","__proto__":"x","constructor":"y","toString":"z"}')
    for (const changed of [claims, { kept: 'k' }])
      await stage.succeed(updateIdentity, { identity: { uid, claimMatch: { claims: changed } } })
    const list = await stage.succeed(listAuditEntries, { resource: uid, action: 'updated', orderBy: 'time' })
    const entries = list.entries as {
      uid: string
      changes: { path: string; before?: string; after?: string }[]
    }[]
    assert.deepEqual(
      entries.map(({ changes }) => changes.map(({ path, before, after }) => [path, before, after]).sort()),
      [
        [
          ['claimMatch.claims.__proto__', undefined, 'x'],
          ['claimMatch.claims.constructor', undefined, 'y'],
          ['claimMatch.claims.toString', undefined, 'z'],
        ],
        [
          ['claimMatch.claims.__proto__', 'x', undefined],
          ['claimMatch.claims.constructor', 'y', undefined],
          ['claimMatch.claims.toString', 'z', undefined],
        ],
      ],
    )
    for (const entry of entries)
      assert.deepEqual(await stage.succeed(getAuditEntry, { uid: entry.uid }), entry)
  },
})

onEachStore('races in IAM', (engine) => {
  let platform: Platform
  let doors: Door[]
  before(async () => {
    platform = await sharedPlatform(engine)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  test('if access to an organization is requested while it is deleted, exactly one of the two calls succeeds', async () => {
    const [rest, grpc] = doors as [Door, Door]
    for (let round = 0; round < 15; round++) {
      const domain = `${engine}${round}.example.com`
      const founder = await platform.addUser(`founder@${domain}`)
      const { body } = await rest.call(createGroup, { group: { name: domain } }, founder.token)
      const uid = body?.uid as string
      await verifyOrganization(platform.store, uid, { isVerified: true, now: Date.now() })
      const guest = await platform.addUser(`guest@${domain}`)
      const [deleted, requested] = await Promise.all([
        rest.call(deleteGroup, { uid }, founder.token),
        grpc.call(requestGroupAccess, { groupUid: uid }, guest.token),
      ])
      const codes = [deleted.error?.code ?? 0, requested.error?.code ?? 0]
      // Either the organization is gone (5), or it is not empty because it contains the request (9).
      assert.ok(['0,5', '9,0'].includes(codes.join()), `${codes}: ${requested.error?.message}`)
    }
  })

  // SQLite has a single writer, so this race exists only on PostgreSQL.
  const testOnPostgres = engine === 'postgres' ? test : () => {}
  testOnPostgres('a role keeps a capability until running calls that rely on it have ended', async () => {
    const [rest] = doors as [Door]
    const { organization, token } = platform.owner
    const maker = await platform.addIdentityWith(organization, [
      'CAP_IAM_ROLES_CREATE',
      'CAP_IAM_GROUPS_LIST',
    ])
    const lock = new pg.Client({ connectionString: platform.config.databaseUrl })
    await lock.connect()
    try {
      await lock.query('begin')
      // Writers change the tally last, so the create below has taken all its other locks when it waits for this one.
      await lock.query('lock table tally in exclusive mode')
      const role = { name: 'lister', capabilities: ['CAP_IAM_GROUPS_LIST'] }
      const making = rest.call(createRole, { parent: organization, role }, maker.token)
      const countWaiting = async () => (await lock.query(callsWaitingForLock)).rowCount ?? 0
      while ((await countWaiting()) < 1) await pause(5)
      const narrow = { role: { uid: maker.role, capabilities: ['CAP_IAM_ROLES_CREATE'] } }
      let isNarrowed = false
      const narrowing = rest.call(updateRole, narrow, token).then((answer) => {
        isNarrowed = true
        return answer
      })
      while (!isNarrowed && (await countWaiting()) < 2) await pause(5)
      assert.equal(isNarrowed, false, 'the role was narrowed during the create')
      await lock.query('commit')
      assert.ok((await making).body)
      assert.ok((await narrowing).body)
      const again = { parent: organization, role: { ...role, name: 'again' } }
      assert.equal((await rest.call(createRole, again, maker.token)).error?.code, 7)
    } finally {
      await lock.end()
    }
  })
})
