// CheckAccess and BatchCheckAccess. Their answers agree with calls that the identity makes.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { Identities as EventIdentities } from '@stemma/api/gen/platform/events/identity_pb.ts'
import { GroupInvites as V1GroupInvites } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import { Groups as V1Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { RoleBindings as V1RoleBindings } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { Code } from '../../server/aip/code.ts'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import type { TokenLimits } from '../../server/wire/caller.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples, make, violations } from '../contract/examples.ts'
import { addExternalGroup, addMember } from './external-access.ts'

const { checkAccess, batchCheckAccess } = AccessService.method
const { createGroup, getGroup, setGroupLimits } = GroupsService.method
const { getIdentity } = IdentitiesService.method
const { getRole } = RolesService.method
const { createWithGroup } = V1GroupInvites.method
const { getPackageVersionMetadata } = Registry.method
const nameOf = (method: DescMethod) => describeMethod(method).name

const makeTeam = (stage: ExampleContext, parent = stage.owner.organization) =>
  make(stage, createGroup, { parent, group: { name: 'team' } })

const allowed = { allowed: true }
const refused = { allowed: false }

/** A token of an identity that is limited to groups or capabilities. */
const limitedToken = ({ keys, config }: Platform, identity: string, limits: TokenLimits) =>
  mintToken(
    { keys, authUrl: config.authUrl, now: Date.now, random: randomBytes },
    { identity, audience: config.baseUrl, limits },
  )

examples('CheckAccess', {
  async 'answers about other identities according to their roles in the group and above it'(stage) {
    const { platform, owner, succeed } = stage
    const team = await makeTeam(stage)
    const viewer = await platform.addIdentity(owner.organization, 'viewer', team)
    const ask = (capability: string, resource: string) =>
      succeed(checkAccess, { identity: viewer.identity, capability, resource })
    const below = `${team}/${'0'.repeat(16)}`
    assert.deepEqual(await ask('groups.list', team), allowed)
    assert.deepEqual(await ask('groups.list', below), allowed, 'also for a uid that does not exist')
    assert.deepEqual(await ask('groups.update', team), refused)
    assert.deepEqual(await ask('groups.list', owner.organization), refused)
    await platform.unbind(viewer.identity)
    assert.deepEqual(await ask('groups.list', team), refused, 'the revocation takes effect at once')
  },

  async 'agrees with calls that change or delete the identity of the caller, or create organizations'(stage) {
    const { platform, owner, succeed, fail } = stage
    const person = await platform.addUser('ada@example.com')
    const editor = await platform.addIdentity(owner.organization, 'editor')
    const limited = await limitedToken(platform, editor.identity, { capabilities: ['groups.list'] })
    const ask = (method: DescMethod, token: string) => succeed(checkAccess, { method: nameOf(method) }, token)
    const { delete: deleteAccount } = Auth.method
    const { updateIdentityMetadata } = IdentitiesService.method
    for (const method of [updateIdentityMetadata, EventIdentities.method.updateMetadata]) {
      assert.deepEqual(await ask(method, editor.token), allowed)
      assert.deepEqual(await ask(method, limited), refused)
      const request = method === updateIdentityMetadata ? { identityMetadata: { company: 'acme' } } : {}
      assert.equal((await fail(method, request, limited)).code, 7)
    }
    // The owner of the platform may create organizations, an editor may not.
    for (const method of [createWithGroup, V1Groups.method.create]) {
      assert.deepEqual(await ask(method, owner.token), allowed)
      assert.deepEqual(await ask(method, editor.token), refused)
    }
    assert.equal((await fail(createWithGroup, { group: 'acme' }, editor.token)).code, 7)
    assert.deepEqual(await ask(deleteAccount, editor.token), refused)
    assert.deepEqual(await ask(deleteAccount, person.token), allowed)
    for (const method of [deleteAccount, updateIdentityMetadata, AccountService.method.changePassword])
      for (const place of [{ resource: owner.organization }, {}]) {
        const aboutOther = { identity: editor.identity, method: nameOf(method), ...place }
        assert.deepEqual(await succeed(checkAccess, aboutOther), refused)
        const { decisions } = await succeed(batchCheckAccess, { questions: [aboutOther] })
        assert.deepEqual(decisions, [refused])
        const explanation = await succeed(AccessService.method.explainAccess, aboutOther)
        assert.deepEqual([explanation.allowed, explanation.rule], [false, 'ACCESS_RULE_SELF'])
      }
    await succeed(deleteAccount, { id: person.identity }, person.token)
  },

  async 'agrees with calls by which people give up their own role bindings'(stage) {
    const { platform, owner, succeed, fail } = stage
    const { organization } = owner
    const team = await makeTeam(stage)
    const viewer = builtInRole('viewer').uid
    const { createRoleBinding, deleteRoleBinding } = RoleBindingsService.method
    const deletions = [
      { method: deleteRoleBinding, requestOf: (uid: string) => ({ uid }) },
      { method: V1RoleBindings.method.delete, requestOf: (id: string) => ({ id }) },
    ]
    const person = await platform.addUser('ada@example.com')
    await platform.bind(person.identity, 'viewer', organization)
    const workload = await platform.addIdentity(organization, 'viewer')
    const limited = await limitedToken(platform, person.identity, { scopes: [organization] })
    const bind = (identityUid: string, expireTime?: string) =>
      make(stage, createRoleBinding, {
        parent: team,
        roleBinding: { identityUid, roleUid: viewer, ...(expireTime && { expireTime }) },
      })
    for (const { method, requestOf } of deletions) {
      const expireTime = '2100-01-01T00:00:00.000Z'
      const [own, others] = [await bind(person.identity, expireTime), await bind(workload.identity)]
      const ask = (resource: string, token: string) =>
        succeed(checkAccess, { method: nameOf(method), resource }, token)
      for (const [uid, token] of [
        [own, limited],
        [own, workload.token],
        [others, person.token],
        [others, workload.token],
      ] as const) {
        assert.deepEqual(await ask(uid, token), refused)
        assert.equal((await fail(method, requestOf(uid), token)).code, 7)
      }
      assert.deepEqual(await ask(own, person.token), { ...allowed, expireTime })
      assert.deepEqual(await ask(own, owner.token), allowed)
      const about = (identity: string, resource: string) => ({ identity, method: nameOf(method), resource })
      const questions = [about(person.identity, own), about(workload.identity, others), about('', own)]
      const { decisions } = await succeed(batchCheckAccess, { questions })
      assert.deepEqual(decisions, [{ ...allowed, expireTime }, refused, allowed])
      const explanation = await succeed(AccessService.method.explainAccess, questions[0] as JsonObject)
      assert.deepEqual([explanation.allowed, explanation.rule], [true, 'ACCESS_RULE_NO_CAPABILITY'])
      await succeed(method, requestOf(own), person.token)
      assert.deepEqual(await ask(own, person.token), refused)
      assert.equal((await fail(method, requestOf(own), person.token)).code, 7)
      await succeed(method, requestOf(others))
    }
  },

  async 'answers every caller about themselves, within the limits of the token'(stage) {
    const { platform, owner, succeed } = stage
    const { organization } = owner
    const team = await makeTeam(stage)
    const question = { capability: 'repo.create', resource: organization }
    const stranger = await platform.addIdentity('')
    assert.deepEqual(await succeed(checkAccess, question, stranger.token), refused)
    const editor = await platform.addIdentity(organization, 'editor')
    const inTeam = await limitedToken(platform, editor.identity, { scopes: [team] })
    const toList = await limitedToken(platform, editor.identity, { capabilities: ['groups.list'] })
    for (const self of [{}, { identity: editor.identity }]) {
      const ask = (token: string, resource: string) =>
        succeed(checkAccess, { ...question, ...self, resource }, token)
      assert.deepEqual(await ask(editor.token, organization), allowed)
      assert.deepEqual(await ask(inTeam, organization), refused)
      assert.deepEqual(await ask(inTeam, team), allowed)
      assert.deepEqual(await ask(toList, team), refused)
    }
    // Limits of the caller's token do not apply to answers about others.
    assert.deepEqual(
      await succeed(checkAccess, { ...question, identity: owner.identity, resource: team }, inTeam),
      allowed,
    )
  },

  async 'allows a method exactly if a call of it is not denied'(stage) {
    const { platform, owner, succeed, call } = stage
    const team = await makeTeam(stage)
    const editor = await platform.addIdentity(owner.organization, 'editor', team)
    const viewer = await platform.addUser('ada@example.com')
    await platform.bind(viewer.identity, 'viewer', team)
    const limits = { resourceLimits: { repos: 5 } }
    const calls: [DescMethod, string, JsonObject][] = [
      [getGroup, team, { uid: team }],
      [getGroup, owner.organization, { uid: owner.organization }],
      [createGroup, team, { parent: team, group: { name: 'made' } }],
      [createGroup, '', { group: { name: 'organization' } }],
      [setGroupLimits, team, { uid: team, ...limits }],
      [setGroupLimits, owner.organization, { uid: owner.organization, ...limits }],
      [getIdentity, viewer.identity, { uid: viewer.identity }],
      [getRole, builtInRole('owner').uid, { uid: builtInRole('owner').uid }],
      [GroupsService.method.listGroups, '', {}],
    ]
    const stranger = await platform.addIdentity(owner.organization)
    for (const { token } of [owner, editor, viewer, stranger]) {
      for (const [method, resource, request] of calls) {
        const isDenied = (await call(method, request, token)).error?.code === Code.PERMISSION_DENIED
        const question = { method: nameOf(method), ...(resource !== '' && { resource }) }
        const answer = await succeed(checkAccess, question, token)
        assert.deepEqual(answer, isDenied ? refused : allowed, `${method.name} ${resource}`)
      }
    }
  },

  async 'includes roles of external groups, and says when the membership ends'(stage) {
    const { platform, owner, succeed } = stage
    const { organization } = owner
    const provider = await addExternalGroup(stage, organization, 'editor')
    const member = await platform.addUser('bob@example.com')
    const until = Date.now() + 1_800_000
    const join = (expireTime: number) => addMember(stage, provider, member.identity, expireTime)
    await join(until)
    const question = { identity: member.identity, capability: 'repo.create', resource: organization }
    const limited = { allowed: true, expireTime: new Date(until).toISOString() }
    assert.deepEqual(await succeed(checkAccess, question), limited)
    assert.deepEqual(await succeed(checkAccess, question, member.token), limited)
    const batch = await succeed(batchCheckAccess, { questions: [question] })
    assert.deepEqual(batch.decisions, [limited])
    await platform.bind(member.identity, 'editor', organization)
    assert.deepEqual(await succeed(checkAccess, question), allowed, 'their own role does not end')
    await platform.unbind(member.identity)
    await join(Date.now() - 1)
    assert.deepEqual(await succeed(checkAccess, question), refused)
  },

  async 'says when a role binding expires, and refuses from then on'(stage) {
    const { platform, owner, succeed } = stage
    const { organization } = owner
    const { identity } = await platform.addIdentity(organization)
    const soon = Date.now() + 3_600_000
    const bindUntil = (role: string, time: number) =>
      make(stage, RoleBindingsService.method.createRoleBinding, {
        parent: organization,
        roleBinding: {
          ...{ identityUid: identity, roleUid: builtInRole(role).uid },
          expireTime: new Date(time).toISOString(),
        },
      })
    const editor = await bindUntil('editor', soon + 1000)
    await bindUntil('viewer', soon)
    const ask = (question: JsonObject) =>
      succeed(checkAccess, { identity, resource: organization, ...question })
    const until = (time: number) => ({ allowed: true, expireTime: new Date(time).toISOString() })
    assert.deepEqual(await ask({ capability: 'groups.list' }), until(soon + 1000), 'the longer one counts')
    await platform.store.write(function* () {
      yield sql`update role_bindings set expire_time = ${Date.now()} where uid = ${editor}`
    })
    assert.deepEqual(await ask({ capability: 'repo.create' }), refused)
    assert.deepEqual(await ask({ method: nameOf(getGroup) }), until(soon))
  },

  async 'needs role_bindings.list and identity.list for a question about others, even an invalid one'(stage) {
    const { platform, owner, fail } = stage
    const { organization } = owner
    const foreign = await platform.addOrganization('elsewhere')
    const bindingsOnly = await platform.addIdentityWith(organization, ['CAP_IAM_ROLE_BINDINGS_LIST'])
    const identitiesOnly = await platform.addIdentityWith(organization, ['CAP_IAM_IDENTITY_LIST'])
    const toList = await limitedToken(platform, owner.identity, { capabilities: ['groups.list'] })
    const wrong = { identity: owner.identity, resource: organization, capability: 'no.such.capability' }
    for (const identity of [foreign.identity, 'f'.repeat(40)]) {
      const question = { identity, capability: 'groups.list', resource: organization }
      for (const token of [foreign.token, bindingsOnly.token, identitiesOnly.token, toList])
        for (const [method, request] of [
          [checkAccess, question],
          [batchCheckAccess, { questions: [question] }],
          [checkAccess, { ...question, method: 'x' }],
          [batchCheckAccess, { questions: [{ capability: 'x' }, question] }],
          [batchCheckAccess, { questions: [question, ...Array<JsonObject>(1000).fill(wrong)] }],
        ] as [DescMethod, JsonObject][]) {
          if (identity === foreign.identity && token === foreign.token) continue
          const error = await fail(method, request, token)
          assert.equal(error.code, Code.PERMISSION_DENIED)
          const metadata = detail(error, 'ErrorInfo')?.metadata as JsonObject
          assert.match(String(metadata.permission), /^(role_bindings|identity)\.list$/)
        }
    }
    // The owner learns nothing about roles in other organizations, nor whether an identity exists.
    for (const identity of [foreign.identity, 'f'.repeat(40)]) {
      const elsewhere = { identity, capability: 'groups.list', resource: foreign.organization }
      assert.equal((await fail(checkAccess, elsewhere)).code, Code.PERMISSION_DENIED)
      const here = { identity, capability: 'groups.list', resource: organization }
      assert.deepEqual(await stage.succeed(checkAccess, here), refused)
      const open = {
        identity,
        method: nameOf(IdentitiesService.method.lookupIdentity),
        resource: organization,
      }
      assert.deepEqual(await stage.succeed(checkAccess, open), allowed, 'needs no capability')
    }
  },

  async 'names the field of a wrong question'(stage) {
    const { owner, fail } = stage
    const { organization: resource } = owner
    const other = { identity: 'f'.repeat(40) }
    const capability = 'groups.list'
    for (const [question, field, text] of [
      [{ resource }, 'capability', /is required, or method/],
      [{ resource, capability, method: nameOf(getGroup) }, 'method', /must be empty/],
      [{ resource, capability: 'group.list' }, 'capability', /did you mean groups\.list/],
      [
        { resource, method: 'platform.iam.v2beta1.GroupsService.GetGroups' },
        'method',
        /GroupsService\.GetGroup/,
      ],
      [{ capability }, 'resource', /is required/],
      [{ method: nameOf(getGroup) }, 'resource', /is required/],
      [{ ...other, method: nameOf(createGroup) }, 'resource', /about other identities/],
      ...[createWithGroup, getPackageVersionMetadata].map(
        (method) =>
          [{ ...other, resource, method: nameOf(method) }, 'method', /only the identity itself/] as const,
      ),
      [{ capability, resource: `${resource}/` }, 'resource', /must be a uid/],
      [{ capability, resource: resource.toUpperCase() }, 'resource', /must be a uid/],
      [{ identity: `${resource}%`, capability, resource }, 'identity', /must be a uid/],
      [{ identity: ` ${owner.identity}`, capability, resource }, 'identity', /must be a uid/],
      [{ resource, capability: 'x'.repeat(65) }, 'capability', /at most 64/],
    ] as const) {
      const error = await fail(checkAccess, question)
      assert.deepEqual([error.code, violations(error)], [Code.INVALID_ARGUMENT, [field]])
      assert.match(error.message, text)
      const batch = await fail(batchCheckAccess, { questions: [{ capability, resource }, question] })
      assert.deepEqual(violations(batch), [`questions[1].${field}`])
    }
    assert.deepEqual(violations(await fail(batchCheckAccess, { questions: [] })), ['questions'])
    const tooMany = Array<JsonObject>(1001).fill({ capability, resource })
    assert.match((await fail(batchCheckAccess, { questions: tooMany })).message, /at most 1000/)
  },

  async 'answers a batch in the order of its questions, each as CheckAccess does'(stage) {
    const { platform, owner, succeed } = stage
    const { organization } = owner
    const team = await makeTeam(stage)
    const add = async (role: string) => (await platform.addIdentity(organization, role, team)).identity
    const [viewer, editor] = [await add('viewer'), await add('editor')]
    const inTeam = { viewer: [true, false, false, false], editor: [true, true, false, false] }
    // The batch runs in the lane, because it has more than 20 identities.
    const unknown = Array.from({ length: 20 }, (_, at) => at.toString(16).padStart(40, '0'))
    const asked: [identity: string, allowed: boolean[]][] = [
      ['', Array(4).fill(true)],
      [viewer, inTeam.viewer],
      ...unknown.map((identity): [string, boolean[]] => [identity, Array(4).fill(false)]),
      [editor, inTeam.editor],
      [owner.identity, Array(4).fill(true)],
    ]
    const questionsAbout = (identity: string) =>
      [team, organization].flatMap((resource) =>
        ['groups.list', 'repo.create'].map((capability) => ({
          ...(identity !== '' && { identity }),
          ...{ capability, resource },
        })),
      )
    const questions = asked.flatMap(([identity]) => questionsAbout(identity))
    const { decisions } = await succeed(batchCheckAccess, { questions })
    const expected = asked.flatMap(([, decided]) => decided.map((isAllowed) => ({ allowed: isAllowed })))
    assert.deepEqual(decisions, expected)
    for (const [at, question] of questions.entries())
      if (question.identity === undefined || !unknown.slice(1).includes(question.identity))
        assert.deepEqual(await succeed(checkAccess, question), expected[at])
  },
})
