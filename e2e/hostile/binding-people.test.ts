// Attacks that bind people to roles without their consent, or use a binding to find out who they are. Anyone can
// compute the uid of a person, because it is a hash of the issuer and the e-mail address.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { RoleBindings } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { GroupAccessRequestsService } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { userUid } from '@stemma/server/aip/uid.ts'
import { verifyOrganization } from '@stemma/server/commands/verify.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import type { ErrorBody } from '@stemma/server/testing/doors.ts'
import type { CapabilityName } from '@stemma/server/testing/identities.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make } from '../contract/examples.ts'

const { createGroup, requestGroupAccess } = GroupsService.method
const { createRoleBinding, updateRoleBinding, batchCreateRoleBindings, getRoleBinding, listRoleBindings } =
  RoleBindingsService.method
const { approveGroupAccessRequest, listGroupAccessRequests } = GroupAccessRequestsService.method

const viewer = builtInRole('viewer').uid
const nobody = userUid('http://stemma.test', 'nobody@victim.example')

const addVictim = ({ platform }: ExampleContext) => platform.addUser('ada@victim.example')

/** Every call that binds an identity, by name. */
function attemptsOf({ fail, owner }: ExampleContext, existingBinding: string, token?: string) {
  const parent = owner.organization
  return {
    create: (identityUid: string) =>
      fail(createRoleBinding, { parent, roleBinding: { identityUid, roleUid: viewer } }, token),
    update: (identityUid: string) =>
      fail(updateRoleBinding, { roleBinding: { uid: existingBinding, identityUid } }, token),
    batch: (identityUid: string) =>
      fail(
        batchCreateRoleBindings,
        { parent, roleUid: viewer, requests: [{ roleBinding: { identityUid } }] },
        token,
      ),
    'create of v1': (identity: string) =>
      fail(RoleBindings.method.create, { parent, roleBinding: { identity, role: viewer } }, token),
  } satisfies Record<string, (identityUid: string) => Promise<ErrorBody>>
}

const assertRevealsNothing = (value: unknown) =>
  assert.doesNotMatch(JSON.stringify(value), /victim\.example|Ada/)

/** The identity of the binding in a response, or of the first binding if the response is a list. */
const identityIn = (body: JsonObject) =>
  (((body.roleBindings as JsonObject[] | undefined)?.[0] ?? body).identity as JsonObject) ?? {}

examples('a caller who computes the uid of a person', {
  async 'cannot bind them, and gets the same answer as for a person who does not exist'(stage) {
    const { platform, owner } = stage
    const victim = await addVictim(stage)
    const workload = await platform.addIdentity(owner.organization)
    const existingBinding = await make(stage, createRoleBinding, {
      parent: owner.organization,
      roleBinding: { identityUid: workload.identity, roleUid: viewer },
    })
    for (const [call, attempt] of Object.entries(attemptsOf(stage, existingBinding))) {
      const refused = await attempt(victim.identity)
      assert.equal(refused.code, 3, call)
      assert.deepEqual(refused, await attempt(nobody))
      assertRevealsNothing(refused)
    }
  },

  async 'cannot bind a member of an organization in which the caller may not list identities'(stage) {
    const { platform, owner } = stage
    const victim = await addVictim(stage)
    const shared = await platform.addOrganization('shared')
    await platform.bind(victim.identity, 'viewer', shared.organization)
    const roleBinding = { identityUid: victim.identity, roleUid: viewer }
    const bind = (token?: string) =>
      stage.call(createRoleBinding, { parent: owner.organization, roleBinding }, token)
    await platform.bind(owner.identity, 'registry.pull', shared.organization)
    assert.equal((await bind()).error?.code, 3)
    // The owner becomes a viewer in a group of the shared organization, but the victim has no role in that group.
    const { uid } = await stage.succeed(
      createGroup,
      { parent: shared.organization, group: { name: 'team' } },
      shared.token,
    )
    await platform.bind(owner.identity, 'viewer', uid as string)
    assert.equal((await bind()).error?.code, 3)
    await platform.bind(owner.identity, 'viewer', shared.organization)
    // A token that is limited to the caller's own organization does not include roles in the shared one.
    const { token: limited } = await stage.succeed(SecurityTokenService.method.exchange, {
      identity: owner.identity,
      scopes: [owner.organization],
    })
    assert.equal((await bind(limited as string)).error?.code, 3)
    assert.ok((await bind()).body)
  },

  async 'reads only the uid of a person through a binding if the caller may not list identities'(stage) {
    const { platform, owner } = stage
    const victim = await addVictim(stage)
    await platform.bind(victim.identity, 'apk.pull', owner.organization)
    const role = builtInRole('registry.pull').uid
    const capabilities: CapabilityName[] = [
      ...(['CAP_IAM_ROLE_BINDINGS_CREATE', 'CAP_IAM_ROLE_BINDINGS_UPDATE'] as const),
      ...(['CAP_IAM_ROLE_BINDINGS_LIST', 'CAP_IAM_ROLE_BINDINGS_DELETE'] as const),
    ]
    const binder = await platform.addIdentityWith(owner.organization, capabilities)
    await platform.bind(binder.identity, 'registry.pull', owner.organization)
    const parent = owner.organization
    const identityUid = victim.identity
    const created = await stage.succeed(
      createRoleBinding,
      { parent, roleBinding: { identityUid, roleUid: role } },
      binder.token,
    )
    const uid = created.uid as string
    const seen = [
      created,
      await stage.succeed(getRoleBinding, { uid }, binder.token),
      await stage.succeed(updateRoleBinding, { roleBinding: { uid, identityUid } }, binder.token),
      await stage.succeed(listRoleBindings, { role }, binder.token),
      await stage.succeed(
        listRoleBindings,
        { identity: identityUid, orderBy: 'create_time desc' },
        binder.token,
      ),
    ]
    // This list is sorted by uid, so its order differs from run to run. `door.call` keeps it out of
    // the comparison of the doors.
    const { body: v1 } = await stage.door.call(RoleBindings.method.list, {}, binder.token)
    assert.equal((v1?.items as JsonObject[]).length, 5)
    for (const body of [...seen, v1]) assertRevealsNothing(body)
    for (const body of seen.slice(0, 4))
      assert.deepEqual(identityIn(body), {
        uid: identityUid,
        name: '',
        description: '',
        subject: '',
        issuer: '',
      })
    await stage.succeed(RoleBindingsService.method.deleteRoleBinding, { uid }, binder.token)
    const batch = await stage.succeed(
      batchCreateRoleBindings,
      { parent, roleUid: role, requests: [{ roleBinding: { identityUid } }] },
      binder.token,
    )
    assertRevealsNothing(batch)
    assert.equal(identityIn(await stage.succeed(listRoleBindings, { role })).email, 'ada@victim.example')
  },

  async 'cannot see who the person is with a token that is limited to role bindings'(stage) {
    const { platform, owner, succeed } = stage
    const victim = await addVictim(stage)
    await platform.bind(victim.identity, 'viewer', owner.organization)
    const { token } = await succeed(SecurityTokenService.method.exchange, {
      identity: owner.identity,
      cap: ['role_bindings.list'],
    })
    assertRevealsNothing(await succeed(listRoleBindings, {}, token as string))
  },

  async 'still sees their own e-mail address'(stage) {
    const { platform, owner } = stage
    const reader = await platform.addUser('reader@example.com')
    await platform.bind(reader.identity, 'viewer', owner.organization)
    const { token } = await stage.succeed(
      SecurityTokenService.method.exchange,
      { identity: reader.identity, cap: ['role_bindings.list'] },
      reader.token,
    )
    const { roleBindings } = await stage.succeed(
      listRoleBindings,
      { identity: reader.identity },
      token as string,
    )
    assert.equal(((roleBindings as JsonObject[])[0]?.identity as JsonObject).email, 'reader@example.com')
  },

  async 'gets only the uid of a person whose request for access they approve'(stage) {
    const { platform, owner } = stage
    const domain = `${owner.organization.slice(0, 12)}.example`
    const organization = (await platform.addOrganization(domain)).organization
    await verifyOrganization(platform.store, organization, { isVerified: true, now: Date.now() })
    const guest = await platform.addUser(`ada@${domain}`)
    await stage.door.call(requestGroupAccess, { groupUid: organization }, guest.token)
    const approver = await platform.addIdentityWith(organization, [
      ...(['CAP_IAM_GROUP_INVITES_LIST', 'CAP_IAM_GROUP_INVITES_CREATE'] as const),
      ...(['CAP_IAM_ROLE_BINDINGS_CREATE'] as const),
    ])
    const listed = await stage.door.call(listGroupAccessRequests, {}, approver.token)
    const [request] = listed.body?.groupAccessRequests as JsonObject[]
    const { body, error } = await stage.door.call(
      approveGroupAccessRequest,
      { uid: request?.uid as string, roleUid: approver.role },
      approver.token,
    )
    assert.ok(body, error?.message)
    const { uid, name, email } = body.identity as JsonObject
    assert.deepEqual([uid, name, email], [guest.identity, '', undefined])
  },
})
