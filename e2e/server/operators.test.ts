// The services for operators of the server: who may call them, and what they change.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { ExternalGroupRoleMappingsService } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { OrganizationsService } from '@stemma/api/gen/platform/server/v2beta1/organization_pb.ts'
import { PeopleService } from '@stemma/api/gen/platform/server/v2beta1/person_pb.ts'
import { ServerService } from '@stemma/api/gen/platform/server/v2beta1/server_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { Code } from '../../server/aip/code.ts'
import { addOperator, removeOperator } from '../../server/auth/administration/operators.ts'
import { claimAddress } from '../../server/auth/login/claimed-accounts.ts'
import { peopleOf } from '../../server/authentication.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { serverLog } from '../../server/store/events/event-row.ts'
import { externalGroupUid } from '../../server/store/external-groups.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sealedEvents } from '../../server/testing/sealed-events.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { addAccount, password, signIn, startSignInPlatform } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

const { listPeople, getPerson, disablePerson, enablePerson, removePerson } = PeopleService.method
const { signOutPerson, resetPersonPassword, resetPersonSecondFactors } = PeopleService.method
const { listOrganizations, getOrganization, setOrganizationLimits } = OrganizationsService.method
const { getHealth, listKeys, rotateKeys } = ServerService.method
const { createIdentityProvider } = IdentityProvidersService.method
const { createExternalGroupRoleMapping } = ExternalGroupRoleMappingsService.method
const { checkAccess } = AccessService.method

const claimDependencies = {
  people: peopleOf({ access: operatorAccess, now: Date.now, random: randomBytes }),
  random: randomBytes,
}

const operatorMethods: DescMethod[] = [PeopleService, OrganizationsService, ServerService].flatMap(
  ({ methods }) => methods,
)

type Person = { uid: string; name: string; email?: string; operator: boolean; disableTime?: string }
type Usage = { kind: string; used: string; limit?: number; defaultLimit?: boolean }

onEachStore('the services for operators', (engine) => {
  let platform: Platform
  let rest: Door
  let grpc: Door
  let operator: string
  let token: string
  let clockOffset = 0
  before(async () => {
    platform = await startSignInPlatform(engine, [], { now: () => Date.now() + clockOffset })
    rest = restDoor(platform.url)
    grpc = grpcDoor(platform.url)
    operator = await addAccount(platform, 'root@example.com')
    await platform.store.write(() => addOperator(operatorAccess, operator, Date.now()))
    token = await tokenOf('root@example.com')
  })
  after(async () => {
    grpc.close()
    await platform.stop()
  })

  const tokenOf = async (email: string) => (await signIn(platform, email)).tokens.access_token
  const add = (name: string) => addAccount(platform, `${name}@example.com`)

  async function succeed(method: DescMethod, request: JsonObject = {}, door = rest): Promise<JsonObject> {
    const { body, error } = await door.call(method, request, token)
    assert.equal(error, undefined, `${method.name}: ${error?.message}`)
    return body as JsonObject
  }
  const people = async (request: JsonObject, door = rest) =>
    (await succeed(listPeople, request, door)) as unknown as {
      people: Person[]
      totalCount: string
      nextPageToken?: string
      skipped: number
    }
  const reasonOf = (error: unknown) => /"type":"([A-Z_]+)"/.exec(JSON.stringify(error))?.[1]
  /** The status code of a call with a token; 0 if the token is accepted. */
  const codeOf = async (bearer: string) =>
    (await rest.call(AccountService.method.getAccount, {}, bearer)).error?.code ?? 0

  test('refuse callers who are not operators, before the request is checked', async () => {
    const { organization, token: workload } = platform.owner
    const owner = await add('owner')
    await platform.bind(owner, 'owner', organization)
    const ownerToken = await tokenOf('owner@example.com')
    const stranger = await add('stranger')
    const strangerToken = await tokenOf('stranger@example.com')
    await rest.call(GroupsService.method.createGroup, { parent: '', group: { name: 'other' } }, strangerToken)
    const { exchange } = SecurityTokenService.method
    const narrowed = await rest.call(exchange, { cap: ['groups.list'] }, token)
    const scoped = await rest.call(exchange, { scopes: [organization] }, token)
    const claimMatch = { issuer: platform.config.authUrl, subjectPattern: '[0-9a-f]{40}' }
    const made = await rest.call(
      IdentitiesService.method.createIdentity,
      { parent: organization, identity: { name: 'everybody', claimMatch } },
      workload,
    )
    const assumed = await rest.call(exchange, { identity: String(made.body?.uid) }, token)
    const formerToken = await formerOperator()
    const attackers = [
      ...[ownerToken, strangerToken, workload, formerToken],
      ...[narrowed, scoped, assumed].map(({ body }) => String(body?.token)),
    ]
    const requests = [{}, { uid: operator }, { uid: '0'.repeat(40) }]
    for (const [at, attacker] of attackers.entries())
      for (const method of operatorMethods) {
        // Each attacker makes one of the requests, because the refusal depends on the attacker and the method alone.
        const request = method.input.field.uid ? (requests[at % requests.length] as JsonObject) : {}
        const { error } = await grpc.call(method, request, attacker)
        assert.equal(error?.code, Code.PERMISSION_DENIED, `${method.name} ${error?.message}`)
        assert.match(error?.message ?? '', /only operators of this server/)
      }
    for (const method of operatorMethods)
      assert.equal((await rest.call(method, { uid: stranger }, undefined)).error?.code, Code.UNAUTHENTICATED)
    assert.equal((await people({ operators: true })).people.length, 1, 'nothing has changed')
  })

  /** The token of a person who was an operator when they signed in. */
  async function formerOperator(): Promise<string> {
    const former = await add('former')
    await platform.store.write(() => addOperator(operatorAccess, former, Date.now()))
    const formerToken = await tokenOf('former@example.com')
    assert.equal((await rest.call(getHealth, {}, formerToken)).error, undefined)
    await platform.store.write(() => removeOperator(operatorAccess, former))
    return formerToken
  }

  test('refuse an operator who has just been disabled', async () => {
    const second = await add('second')
    await platform.store.write(() => addOperator(operatorAccess, second, Date.now()))
    const secondToken = await tokenOf('second@example.com')
    assert.equal((await grpc.call(getHealth, {}, secondToken)).error, undefined)
    await succeed(disablePerson, { uid: second })
    for (const door of [rest, grpc])
      assert.equal((await door.call(listPeople, {}, secondToken)).error?.code, Code.UNAUTHENTICATED)
    await succeed(removePerson, { uid: second })
  })

  test('are allowed to operators alone, according to GetAccount and CheckAccess', async () => {
    const { body } = await rest.call(AccountService.method.getAccount, {}, token)
    assert.equal(body?.operator, true)
    await add('curious')
    const curious = await tokenOf('curious@example.com')
    const method = describeMethod(listPeople).name
    assert.equal((await rest.call(AccountService.method.getAccount, {}, curious)).body?.operator, false)
    assert.equal((await rest.call(checkAccess, { method }, token)).body?.allowed, true)
    assert.equal((await rest.call(checkAccess, { method }, curious)).body?.allowed, false)
    const { organization, token: owner } = platform.owner
    await platform.bind(operator, 'viewer', organization)
    const about = await rest.call(checkAccess, { method, identity: operator, resource: organization }, owner)
    assert.equal(about.body?.allowed, false)
  })

  test('list people by name, with search, filters, pages and an exact total', async () => {
    for (const name of ['list-c', 'list-a', 'list-b', 'lost_a']) await add(name)
    const disabled = await add('list-d')
    await succeed(disablePerson, { uid: disabled })
    for (const door of [rest, grpc]) {
      const first = await people({ search: 'LIST-', pageSize: 3 }, door)
      assert.deepEqual(
        first.people.map(({ name }) => name),
        ['list-a@example.com', 'list-b@example.com', 'list-c@example.com'],
      )
      assert.equal(first.totalCount, '4')
      const request = { search: 'LIST-', pageSize: 3, pageToken: first.nextPageToken ?? '' }
      const second = await people(request, door)
      assert.deepEqual(
        second.people.map(({ uid }) => uid),
        [disabled],
      )
      assert.equal(second.nextPageToken ?? '', '')
      const skipped = await people({ search: 'list-', skip: 2 }, door)
      assert.deepEqual([skipped.people.length, skipped.skipped], [2, 2])
    }
    assert.equal((await people({ search: 'list_' })).totalCount, '0', 'wildcards are ordinary characters')
    assert.deepEqual((await people({ disabled: true, search: 'list' })).people[0]?.uid, disabled)
    assert.deepEqual(
      (await people({ operators: true })).people.map(({ email }) => email),
      ['root@example.com'],
    )
    const everybody = await people({ pageSize: 200 })
    assert.equal(everybody.totalCount, String(everybody.people.length))
    for (const search of ['x'.repeat(201), 'a\u0000b'])
      for (const door of [rest, grpc])
        assert.equal((await door.call(listPeople, { search }, token)).error?.code, Code.INVALID_ARGUMENT)
  })

  test('show whether the address of a person is verified', async () => {
    const vouched = await add('vouched')
    const claim = { issuer: platform.config.authUrl, email: 'claimed@example.com', passwordHash: 'x' }
    const claimed = await platform.store.write(() => claimAddress(claimDependencies, claim))
    const legacyEmail = 'legacy@example.com'
    const legacy = await platform.store.write(function* () {
      const uid = yield* claimAddress(claimDependencies, { ...claim, email: legacyEmail })
      // Earlier versions stored the accounts of invited people in this table.
      yield sql`delete from claimed_accounts where identity = ${uid}`
      yield sql`insert into accounts (email, identity, password, is_vouched) values (${legacyEmail}, ${uid}, 'x', 0)`
      return uid
    })
    for (const [uid, email, emailVerified] of [
      [vouched, 'vouched@example.com', true],
      [claimed, claim.email, false],
      [legacy, legacyEmail, false],
    ] as const)
      assert.partialDeepStrictEqual(await succeed(getPerson, { uid }), {
        ...{ email, emailVerified, local: true, hasPassword: true },
      })
  })

  test('do not treat external groups of identity providers as people', async () => {
    const { organization, token: owner } = platform.owner
    const viewer = builtInRole('viewer').uid
    const oidc = {
      issuer: 'https://sso.test',
      clientId: 'stemma',
      clientSecret: 'hush',
      groupsClaim: 'groups',
    }
    const identityProvider = { name: 'sso', defaultRole: viewer, oidc }
    const made = await rest.call(createIdentityProvider, { parent: organization, identityProvider }, owner)
    const mapping = { scope: organization, roleUid: viewer, externalGroupId: 'list-engineers' }
    const provider = String(made.body?.uid)
    const request = { parent: provider, externalGroupRoleMapping: mapping }
    const { error } = await rest.call(createExternalGroupRoleMapping, request, owner)
    assert.equal(error, undefined, error?.message)
    const uid = externalGroupUid(provider, 'list-engineers')
    assert.equal((await people({ search: 'list-engineers' })).totalCount, '0')
    for (const method of [getPerson, disablePerson, removePerson])
      assert.equal((await rest.call(method, { uid }, token)).error?.code, Code.NOT_FOUND)
  })

  test('disable, enable and sign out people', async () => {
    const uid = await add('bea')
    const beaToken = await tokenOf('bea@example.com')
    const person = (await succeed(disablePerson, { uid }, grpc)) as unknown as Person
    assert.ok(person.disableTime)
    assert.equal(await codeOf(beaToken), Code.UNAUTHENTICATED)
    await assert.rejects(tokenOf('bea@example.com'))
    assert.equal((await succeed(enablePerson, { uid })).disableTime, undefined)
    const again = await tokenOf('bea@example.com')
    assert.equal(await codeOf(again), 0)
    await succeed(signOutPerson, { uid })
    assert.equal(await codeOf(again), Code.UNAUTHENTICATED)
    const entries = (await sealedEvents(platform.store, uid)).filter(({ kind }) => kind === 'accounts')
    assert.deepEqual(
      entries.map(({ action, actor, method }) => [action, actor, method.split('.').at(-1)]),
      [
        ['disabled', operator, 'DisablePerson'],
        ['enabled', operator, 'EnablePerson'],
        ['signed-out', operator, 'SignOutPerson'],
      ],
    )
  })

  test('reset passwords and second factors', async () => {
    const uid = await add('cyd')
    const cydToken = await tokenOf('cyd@example.com')
    const { url = '' } = (await succeed(resetPersonPassword, { uid })) as { url?: string }
    assert.equal(await codeOf(cydToken), Code.UNAUTHENTICATED)
    await assert.rejects(tokenOf('cyd@example.com'))
    const visitor = new Visitor(platform.url)
    assert.equal((await visitor.submit(await visitor.open(url), { password })).title, 'Your password is set')
    await platform.store.write(function* () {
      yield sql`insert into authenticator_apps (identity, sealed, last_step, create_time, confirm_time)
        values (${uid}, ${Buffer.from('s')}, 0, 0, 1)`
    })
    assert.equal((await succeed(getPerson, { uid })).authenticatorApp, true)
    assert.equal((await succeed(resetPersonSecondFactors, { uid })).authenticatorApp, false)
    assert.equal(await codeOf(await tokenOf('cyd@example.com')), 0)
    const events = JSON.stringify(await sealedEvents(platform.store, uid))
    assert.ok(!events.includes(new URL(url).searchParams.get('code') ?? 'none'))
  })

  test('remove people with their roles', async () => {
    const uid = await add('dan')
    await platform.bind(uid, 'viewer', platform.owner.organization)
    assert.equal((await succeed(getPerson, { uid })).roleBindings, 1)
    await succeed(removePerson, { uid, validateOnly: true })
    await succeed(getPerson, { uid })
    await succeed(removePerson, { uid })
    for (const method of [getPerson, disablePerson, removePerson])
      assert.equal((await grpc.call(method, { uid }, token)).error?.code, Code.NOT_FOUND)
    const rows = await platform.store.query(sql`select uid from role_bindings where identity = ${uid}`)
    assert.deepEqual(rows, [])
  })

  test('change neither the account of the operator nor a workload', async () => {
    const changes = PeopleService.methods.filter(({ name }) => !/^(Get|List)/.test(name))
    for (const method of changes) {
      const own = await rest.call(method, { uid: operator }, token)
      assert.deepEqual([own.error?.code, reasonOf(own.error)], [Code.FAILED_PRECONDITION, 'OWN_ACCOUNT'])
      const workload = await grpc.call(method, { uid: platform.owner.identity }, token)
      assert.equal(reasonOf(workload.error), 'NOT_A_PERSON')
      assert.equal((await rest.call(method, { uid: 'x' }, token)).error?.code, Code.INVALID_ARGUMENT)
    }
    assert.equal(await codeOf(token), 0)
  })

  test('list organizations with their usage, and set limits', async () => {
    const { organization } = platform.owner
    const group = { name: 'zz-limited' }
    const made = await succeed(GroupsService.method.createGroup, { parent: '', group })
    const uid = String(made.uid)
    const { organizations = [], totalCount } = (await succeed(listOrganizations, { pageSize: 1 })) as {
      organizations?: JsonObject[]
      totalCount?: string
    }
    assert.equal(organizations.length, 1)
    assert.ok(Number(totalCount) >= 2)
    const found = await succeed(listOrganizations, { nameContains: 'ZZ-LIM' }, grpc)
    assert.deepEqual([found.totalCount, (found.organizations as JsonObject[])[0]?.uid], ['1', uid])
    const usageOf = ({ kinds }: JsonObject, name: string) =>
      (kinds as unknown as Usage[]).find(({ kind }) => kind === name)
    const validated = await succeed(setOrganizationLimits, {
      uid,
      resourceLimits: { groups: 0 },
      validateOnly: true,
    })
    assert.equal(usageOf(validated, 'groups')?.limit, 0)
    assert.equal(usageOf(await succeed(getOrganization, { uid }), 'groups')?.limit, undefined)
    await succeed(setOrganizationLimits, { uid, resourceLimits: { groups: 0 } })
    const child = { parent: uid, group: { name: 'child' } }
    const refused = await rest.call(GroupsService.method.createGroup, child, token)
    assert.equal(refused.error?.code, Code.RESOURCE_EXHAUSTED)
    await succeed(setOrganizationLimits, { uid, remove: ['groups'] }, grpc)
    const inner = String((await succeed(GroupsService.method.createGroup, child)).uid)
    assert.equal(usageOf(await succeed(getOrganization, { uid }), 'groups')?.used, '1')
    for (const [request, code] of [
      [{ uid }, Code.INVALID_ARGUMENT],
      [{ uid, resourceLimits: { cats: 1 } }, Code.INVALID_ARGUMENT],
      [{ uid: inner, resourceLimits: { repos: 1 } }, Code.NOT_FOUND],
      [{ uid: '0'.repeat(40), resourceLimits: { repos: 1 } }, Code.NOT_FOUND],
    ] as const)
      assert.equal((await grpc.call(setOrganizationLimits, request, token)).error?.code, code)
    const events = await sealedEvents(platform.store, uid)
    assert.equal(events.filter(({ method }) => method.endsWith('.SetOrganizationLimits')).length, 2)
    // Being an operator grants no access to the resources of an organization.
    const { error } = await rest.call(
      GroupsService.method.updateGroup,
      { group: { uid: organization } },
      token,
    )
    assert.equal(error?.code, Code.PERMISSION_DENIED)
  })

  test('show the health and the version', async () => {
    for (const door of [rest, grpc]) {
      const health = await succeed(getHealth, {}, door)
      assert.deepEqual([health.store, health.workers, health.contentStorage], [engine, 1, 'files'])
      assert.match(String(health.version), /^\d+\.\d+\.\d+/)
      assert.match(String(health.lastMigration), /^\d{4}-/)
      assert.ok(Number(health.storeBytes) > 10_000)
      assert.ok(Date.parse(String(health.startTime)) <= Date.now())
      assert.deepEqual(health.warnings, [])
    }
  })

  test('warn if a newer version has changed the database', async () => {
    await platform.store.write(function* () {
      yield sql`insert into migrations (name, apply_time) values ('9999-next', 0)`
    })
    const { warnings } = await succeed(getHealth)
    assert.match(String(warnings), /newer version/)
    await platform.store.write(function* () {
      yield sql`delete from migrations where name = '9999-next'`
    })
  })

  test('need a fresh sign-in to change people and keys, and for nothing else', async () => {
    const uid = await add('eve')
    clockOffset = 16 * 60_000
    for (const method of [disablePerson, enablePerson, removePerson, resetPersonPassword, rotateKeys]) {
      const request = method === rotateKeys ? {} : { uid }
      const { error } = await rest.call(method, request, token)
      assert.equal(reasonOf(error), 'FRESH_SIGN_IN_REQUIRED', method.name)
    }
    await succeed(getPerson, { uid })
    await succeed(getHealth)
    clockOffset = 0
  })

  test('list and rotate the keys', async () => {
    const keys = async () =>
      (await succeed(listKeys)).keys as { id: string; state: string; purpose: string }[]
    const before = await keys()
    assert.deepEqual(before.map(({ state, purpose }) => [state, purpose]).sort(), [
      ['KEY_STATE_ACTIVE', 'KEY_PURPOSE_PAGE_TOKENS'],
      ['KEY_STATE_ACTIVE', 'KEY_PURPOSE_TOKENS'],
    ])
    await succeed(rotateKeys, { validateOnly: true })
    assert.deepEqual(await keys(), before)
    const rotated = await Promise.all([rest, grpc, rest].map((door) => door.call(rotateKeys, {}, token)))
    assert.deepEqual(
      rotated.flatMap(({ error }) => (error ? [reasonOf(error)] : [])),
      ['ROTATION_PENDING', 'ROTATION_PENDING'],
    )
    const states = (await keys()).map(({ state }) => state).sort()
    assert.deepEqual(states, [...Array(2).fill('KEY_STATE_ACTIVE'), ...Array(2).fill('KEY_STATE_PENDING')])
    assert.equal(reasonOf((await rest.call(rotateKeys, {}, token)).error), 'ROTATION_PENDING')
    await succeed(rotateKeys, { revoke: true })
    assert.equal(await codeOf(token), Code.UNAUTHENTICATED, 'the token was signed with a revoked key')
    token = await tokenOf('root@example.com')
    const after = await keys()
    assert.deepEqual(
      after.map(({ state }) => state),
      ['KEY_STATE_ACTIVE', 'KEY_STATE_ACTIVE'],
    )
    assert.ok(!after.some(({ id }) => before.some((old) => old.id === id)))
    const events = (await sealedEvents(platform.store, serverLog)).filter(({ kind }) => kind === 'keys')
    assert.deepEqual(
      events.map(({ actor, details }) => [actor, details]),
      [
        [operator, '{"revoked":false}'],
        [operator, '{"revoked":true}'],
      ],
    )
  })
})
