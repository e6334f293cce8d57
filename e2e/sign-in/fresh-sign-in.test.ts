// People who signed in with stemma or the console need a recent sign-in to change ownership.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { ExternalGroupRoleMappingsService } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { GroupAccessRequestsService } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { deleteExpired } from '../../server/auth/login/expiring-states.ts'
import { tokenLifetimeSeconds } from '../../server/auth/tokens/mint.ts'
import { verifyOrganization } from '../../server/commands/verify.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { sql } from '../../server/store/sql.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { addAccount, begin, password, redeem, signIn, startSignInPlatform } from './sign-in.ts'
import type { Page } from './visitor.ts'
import { Visitor } from './visitor.ts'

const { createRoleBinding, batchCreateRoleBindings, updateRoleBinding, deleteRoleBinding } =
  RoleBindingsService.method
const { createGroup, updateGroup, deleteGroup, requestGroupAccess } = GroupsService.method
const { createIdentityProvider, updateIdentityProvider, deleteIdentityProvider, generateScimToken } =
  IdentityProvidersService.method
const {
  createExternalGroupRoleMapping,
  deleteExternalGroupRoleMapping,
  batchDeleteExternalGroupRoleMappings,
} = ExternalGroupRoleMappingsService.method
const { listGroupAccessRequests, approveGroupAccessRequest } = GroupAccessRequestsService.method
const { createGroupInvite } = GroupInvitesService.method
const email = 'ada@example.com'
const ttl = '3600s'

onEachStore('a fresh sign-in', (engine) => {
  let platform: Platform
  let rest: Door
  let grpc: Door
  let identity: string
  let organization: string
  let clockOffset = 0
  before(async () => {
    platform = await startSignInPlatform(engine, [], { now: () => Date.now() + clockOffset })
    rest = restDoor(platform.url)
    grpc = grpcDoor(platform.url)
    identity = await addAccount(platform, email)
    ;({ organization } = platform.owner)
    await platform.bind(identity, 'owner', organization)
  })
  beforeEach(() => {
    clockOffset = 0 // tokens are issued by the real clock, and are valid for an hour
  })
  after(async () => {
    grpc.close()
    await platform.stop()
  })

  const [owner, viewer] = ['owner', 'viewer'].map((role) => builtInRole(role).uid) as [string, string]
  const grant = (token: string, door = rest, roleUid = owner, identityUid = platform.owner.identity) =>
    door.call(createRoleBinding, { parent: organization, roleBinding: { identityUid, roleUid } }, token)
  const newWorkload = async () => (await platform.addIdentity(organization)).identity

  /** Sends the form that continues a session, even if the page does not offer it. The result is empty if it is refused. */
  const continueFrom = (visitor: Visitor, { url }: Page) =>
    visitor.redirectOf(`${url}/continue`, { method: 'POST', body: new URLSearchParams() })

  test('is needed to change who owns an organization, but not to grant other roles or delete subgroups', async () => {
    const { tokens, visitor, party } = await signIn(platform, email)
    const token = tokens.access_token
    const made = await grant(token, rest, owner, await newWorkload())
    assert.equal(made.error, undefined)
    const binding = String(made.body?.uid)
    const root = await rest.call(createGroup, { parent: '', group: { name: 'spare' } }, token)
    clockOffset = 16 * 60_000
    const someone = await newWorkload()
    const ownership = [
      grant(token, rest, owner, someone),
      grant(token, grpc, owner, someone),
      grpc.call(
        batchCreateRoleBindings,
        { parent: organization, roleUid: owner, requests: [{ roleBinding: { identityUid: someone } }] },
        token,
      ),
      rest.call(updateRoleBinding, { roleBinding: { uid: binding, roleUid: viewer } }, token),
      rest.call(deleteRoleBinding, { uid: binding }, token),
      rest.call(createGroupInvite, { parent: organization, groupInvite: { roleUid: owner, ttl } }, token),
      grpc.call(deleteGroup, { uid: String(root.body?.uid) }, token),
    ]
    for (const { error } of await Promise.all(ownership)) {
      assert.equal(error?.code, Code.FAILED_PRECONDITION, error?.message)
      assert.match(JSON.stringify(error), /FRESH_SIGN_IN_REQUIRED/)
      assert.match(error?.message ?? '', /last 15 minutes; sign in again \(stemma auth login --again\)/)
    }
    assert.equal((await grant(token, rest, viewer, someone)).error, undefined)
    const child = await rest.call(createGroup, { parent: organization, group: { name: 'team' } }, token)
    assert.equal((await rest.call(deleteGroup, { uid: String(child.body?.uid) }, token)).error, undefined)

    // The session of the browser continues the old sign-in. A program can ask for a new one.
    const begun = await begin(party)
    const end = await visitor.submitTo(await visitor.open(begun.url), '/continue')
    const continued = await redeem(party, begun, end)
    assert.equal(
      (await grant(continued.access_token, rest, owner, someone)).error?.code,
      Code.FAILED_PRECONDITION,
    )
    const again = await begin(party, { prompt: 'login consent' })
    const page = await visitor.open(again.url)
    assert.equal(page.title, 'Sign in')
    assert.equal(await continueFrom(visitor, page), '', 'the session is not enough')
    const fresh = await redeem(party, again, await visitor.submit(page, { email, password }))
    assert.equal((await rest.call(deleteRoleBinding, { uid: binding }, fresh.access_token)).error, undefined)
    assert.equal(
      (await grpc.call(deleteGroup, { uid: String(root.body?.uid) }, fresh.access_token)).error,
      undefined,
    )
  })

  test('is needed if the session is older than the program allows with max_age', async () => {
    const maxAge = { max_age: '300' }
    const { visitor, party, tokens } = await signIn(platform, email, maxAge)
    const signedInAt = tokens.claims()?.auth_time as number
    clockOffset += 4 * 60_000
    const allowed = await begin(party, maxAge)
    const continued = await visitor.submitTo(await visitor.open(allowed.url), '/continue')
    assert.equal((await redeem(party, allowed, continued)).claims()?.auth_time, signedInAt)

    // The session becomes too old while the page that continues it is open.
    const started = await begin(party, maxAge)
    const opened = await visitor.open(started.url)
    clockOffset += 2 * 60_000
    assert.equal(await continueFrom(visitor, opened), '', 'the session is not enough')

    const again = await begin(party, maxAge)
    const page = await visitor.open(again.url)
    assert.equal(page.title, 'Sign in')
    assert.equal(await continueFrom(visitor, page), '', 'the session is not enough')
    const fresh = await redeem(party, again, await visitor.submit(page, { email, password }))
    assert.ok((fresh.claims()?.auth_time as number) > signedInAt + Number(maxAge.max_age))
  })

  test('is needed to change who becomes an owner through an identity provider or a request', async () => {
    const [parent, workloadToken] = [organization, platform.owner.token]
    const oidc = { issuer: 'https://sso.test', clientId: 'stemma', clientSecret: 'hush' }
    const providerFor = (defaultRole: string) => ({
      ...{ parent, identityProvider: { name: 'sso', defaultRole, oidc } },
    })
    const mappingFor = (provider: string, roleUid: string) => ({
      ...{ parent: provider },
      externalGroupRoleMapping: { externalGroupId: `group-${roleUid}`, roleUid, scope: organization },
    })
    const uidOf = async (call: ReturnType<Door['call']>) => {
      const { body, error } = await call
      assert.equal(error, undefined)
      return String(body?.uid)
    }
    const [withDefaultOwner, withMappedOwner] = [
      await uidOf(rest.call(createIdentityProvider, providerFor(owner), workloadToken)),
      await uidOf(rest.call(createIdentityProvider, providerFor(viewer), workloadToken)),
    ]
    const [ownerMapping, viewerMapping] = [
      await uidOf(
        rest.call(createExternalGroupRoleMapping, mappingFor(withMappedOwner, owner), workloadToken),
      ),
      await uidOf(
        rest.call(createExternalGroupRoleMapping, mappingFor(withMappedOwner, viewer), workloadToken),
      ),
    ]
    const domain = 'fresh.example.com'
    await rest.call(updateGroup, { group: { uid: organization, name: domain } }, workloadToken)
    await verifyOrganization(platform.store, organization, { isVerified: true, now: Date.now() })
    const member = await platform.addUser(`member@${domain}`)
    await rest.call(requestGroupAccess, { groupUid: organization }, member.token)
    const listed = await rest.call(listGroupAccessRequests, {}, workloadToken)
    const [request] = listed.body?.groupAccessRequests as { uid: string }[]
    const { tokens } = await signIn(platform, email)
    const token = tokens.access_token
    // The provider of a verified organization confirms e-mail addresses, so a person who
    // changes it could sign in as an owner.
    clockOffset += 16 * 60_000
    assert.match(
      (await rest.call(createIdentityProvider, providerFor(viewer), token)).error?.message ?? '',
      /last 15 minutes/,
    )
    await verifyOrganization(platform.store, organization, { isVerified: false, now: Date.now() })
    const changeOf = (uid: string) => ({ identityProvider: { uid, description: 'changed' } })
    const ownerChanges = [
      rest.call(createIdentityProvider, providerFor(owner), token),
      grpc.call(updateIdentityProvider, changeOf(withDefaultOwner), token),
      rest.call(updateIdentityProvider, changeOf(withMappedOwner), token),
      grpc.call(createExternalGroupRoleMapping, mappingFor(withDefaultOwner, owner), token),
      rest.call(deleteExternalGroupRoleMapping, { uid: ownerMapping }, token),
      grpc.call(
        batchDeleteExternalGroupRoleMappings,
        { parent: withMappedOwner, names: [viewerMapping, ownerMapping] },
        token,
      ),
      rest.call(generateScimToken, { identityProviderUid: withMappedOwner }, token),
      rest.call(deleteIdentityProvider, { uid: withMappedOwner }, token),
      grpc.call(approveGroupAccessRequest, { uid: request?.uid ?? '', roleUid: owner }, token),
    ]
    for (const { error } of await Promise.all(ownerChanges))
      assert.match(JSON.stringify(error ?? {}), /FRESH_SIGN_IN_REQUIRED/)
    const others = [
      await rest.call(createIdentityProvider, providerFor(viewer), token),
      await rest.call(deleteExternalGroupRoleMapping, { uid: viewerMapping }, token),
      await rest.call(generateScimToken, { identityProviderUid: withDefaultOwner }, token),
      await rest.call(approveGroupAccessRequest, { uid: request?.uid ?? '', roleUid: viewer }, token),
    ]
    for (const { error } of others) assert.equal(error, undefined)
    const fresh = (await signIn(platform, email)).tokens.access_token
    const deleted = await rest.call(deleteExternalGroupRoleMapping, { uid: ownerMapping }, fresh)
    assert.equal(deleted.error, undefined)
    assert.equal((await rest.call(deleteIdentityProvider, { uid: withMappedOwner }, token)).error, undefined)
  })

  test('is not needed by workloads, tokens of the operator and published clients', async () => {
    const query = new URLSearchParams({
      ...{ exit: 'redirect', redirect: 'http://localhost:8085/callback', create_refresh_token: 'true' },
    })
    const visitor = new Visitor(platform.url)
    const end = await visitor.submit(await visitor.open(`/oauth?${query}`), { email, password })
    const published = new URL(end.url).searchParams.get('token') ?? ''
    const operator = await platform.tokenOf(identity)
    clockOffset += 20 * 60_000
    for (const token of [published, operator, platform.owner.token])
      assert.equal((await grant(token, rest, owner, await newWorkload())).error, undefined)
  })

  test('is needed if the record of the sign-in was deleted; records are kept for longer than tokens are valid', async () => {
    const { tokens } = await signIn(platform, email)
    clockOffset = 20 * 60_000
    const recordOf = sql`select expire_time from sign_ins where identity = ${identity} and client = 'stemma'
      order by create_time desc limit 1`
    const [record] = await platform.store.query(recordOf)
    const expireTime = record?.[0] as number
    await platform.store.write(() => deleteExpired(expireTime + tokenLifetimeSeconds * 1000))
    assert.deepEqual((await platform.store.query(recordOf))[0], [expireTime])
    await platform.store.write(() => deleteExpired(expireTime + 2 * tokenLifetimeSeconds * 1000 + 1))
    assert.deepEqual(await platform.store.query(recordOf), [])
    const { error } = await grant(tokens.access_token, rest, owner, await newWorkload())
    assert.match(JSON.stringify(error), /FRESH_SIGN_IN_REQUIRED/)
  })

  test('is needed by owners to delete their own account', async () => {
    const own = 'leaving@example.com'
    const leaving = await addAccount(platform, own)
    const member = (await signIn(platform, own)).tokens.access_token
    await platform.bind(leaving, 'owner', organization)
    clockOffset = 16 * 60_000
    for (const door of [rest, grpc]) {
      const { error } = await door.call(Auth.method.delete, { id: leaving }, member)
      assert.match(JSON.stringify(error), /FRESH_SIGN_IN_REQUIRED/)
    }
    await platform.unbind(leaving)
    await platform.bind(leaving, 'viewer', organization)
    assert.equal((await rest.call(Auth.method.delete, { id: leaving }, member)).error, undefined)
  })
})
