// Invites: the code is returned once, and accepting it grants a role.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { StatusError } from '../../server/aip/errors.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { signInAccess } from '../../server/policy/system-access.ts'
import type { Guest } from '../../server/resources/iam/group-invites/accept.ts'
import { acceptInvite } from '../../server/resources/iam/group-invites/accept.ts'
import { sql } from '../../server/store/sql.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'

const { getGroupInvite, listGroupInvites, createGroupInvite, updateGroupInvite, deleteGroupInvite } =
  GroupInvitesService.method
const { getGroup } = GroupsService.method
const { listRoleBindings } = RoleBindingsService.method
const { createRole, deleteRole } = RolesService.method

const roleUid = builtInRole('viewer').uid

const invite = (stage: ExampleContext, fields: JsonObject = {}) =>
  stage.succeed(createGroupInvite, {
    parent: stage.owner.organization,
    groupInvite: { roleUid, ttl: '3600s', ...fields },
  })

/** Accepts an invite as sign-in does. Returns `accepted` or the error message. */
async function accept(
  { platform }: ExampleContext,
  code: string,
  guest: Guest,
  now = Date.now(),
): Promise<string> {
  try {
    await platform.store.write(() =>
      acceptInvite({ access: signInAccess(new Map()), now: () => now, random: randomBytes }, code, guest),
    )
    return 'accepted'
  } catch (error) {
    if (error instanceof StatusError) return error.message
    throw error
  }
}

const refusalMessage = /is not the code of an invite that you can accept/

examples('group invites', {
  async 'only the create response contains the code and the link'(stage) {
    const created = await invite(stage, { email: 'guest@example.com', singleUse: true })
    const { code, url, ...withoutCode } = created
    assert.match(url as string, /^http:\/\/stemma\.test\/invite\/[\w-]+$/)
    const { uid, keyId, createTime, updateTime, expirationTime, role, ...inputFields } = withoutCode
    assert.deepEqual(inputFields, { roleUid, email: 'guest@example.com', singleUse: true })
    const text = Buffer.from(code as string, 'base64').toString()
    assert.ok(
      text.startsWith(`{"grp":"${stage.owner.organization}"`),
      'published clients expect grp as the first key',
    )
    assert.match(keyId as string, /^[0-9a-f]{16}$/)
    assert.equal(updateTime, createTime)
    assert.equal(Date.parse(expirationTime as string), Date.parse(createTime as string) + 3_600_000)
    const { name, capabilities } = role as { name: string; capabilities: string[] }
    assert.equal(name, 'viewer')
    assert.ok(capabilities.includes('CAP_IAM_GROUPS_LIST'))
    assert.deepEqual(await stage.succeed(getGroupInvite, { uid: uid as string }), withoutCode)
    const listed = await stage.succeed(listGroupInvites, { keyId: keyId as string })
    assert.deepEqual(listed.groupInvites, [withoutCode])
  },

  async 'a role and a time to live are required'(stage) {
    const refuse = async (groupInvite: JsonObject) =>
      violations(await stage.fail(createGroupInvite, { parent: stage.owner.organization, groupInvite }))
    assert.deepEqual(await refuse({ roleUid }), ['ttl'])
    assert.deepEqual(await refuse({ ttl: '60s' }), ['roleUid'])
    for (const ttl of ['0s', '-5s', '0.5s', '31536001s'])
      assert.deepEqual(await refuse({ roleUid, ttl }), ['ttl'])
    assert.deepEqual(await refuse({ roleUid, ttl: '60s', email: 'nobody' }), ['email'])
    assert.deepEqual(await refuse({ roleUid: '0'.repeat(40), ttl: '60s' }), ['roleUid'])
  },

  async 'lists show the newest first'(stage) {
    const uids: unknown[] = []
    for (let at = 0; at < 3; at++) {
      uids.unshift((await invite(stage)).uid)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const list = await stage.succeed(listGroupInvites, {})
    assert.deepEqual(
      (list.groupInvites as JsonObject[]).map(({ uid }) => uid),
      uids,
    )
  },

  async 'can be listed by the time at which they expire, without those that have expired'(stage) {
    const { platform, succeed } = stage
    const uidOf = async (ttl: string) => (await invite(stage, { ttl })).uid as string
    const [day, hour, ended] = [await uidOf('86400s'), await uidOf('3600s'), await uidOf('60s')]
    const listed = async (fields: JsonObject) => {
      const { groupInvites = [] } = await succeed(listGroupInvites, { orderBy: 'expiration_time', ...fields })
      return (groupInvites as { uid: string }[]).map(({ uid }) => uid)
    }
    const uidp = { ids: [day, hour, ended] }
    assert.deepEqual(await listed({ uidp }), [ended, hour, day])
    await platform.store.write(function* () {
      yield sql`update group_invites set expire_time = ${Date.now() - 1} where uid = ${ended}`
    })
    assert.deepEqual(await listed({ uidp, unexpired: true }), [hour, day])
    assert.deepEqual(await listed({ uidp, unexpired: true, orderBy: 'expiration_time desc' }), [day, hour])
  },

  async 'an update keeps the code and is validated like a create'(stage) {
    const { platform, succeed, fail } = stage
    const { uid, code, expirationTime } = (await invite(stage)) as { [key: string]: string }
    const update = (change: JsonObject) => ({ groupInvite: { uid: uid ?? '', ...change } })
    const longer = await succeed(updateGroupInvite, update({ ttl: '7200s', email: 'guest@example.com' }))
    assert.ok((longer.expirationTime as string) > (expirationTime ?? ''))
    assert.ok(!('code' in longer))
    assert.equal((await succeed(updateGroupInvite, update({ singleUse: true }))).singleUse, true)
    assert.deepEqual(violations(await fail(updateGroupInvite, update({ ttl: '-1s' }))), ['ttl'])
    const editor = builtInRole('editor').uid
    const changed = await succeed(updateGroupInvite, update({ roleUid: editor }))
    assert.equal((changed.role as JsonObject).name, 'editor')
    const guest = await platform.addIdentity('')
    assert.equal(
      await accept(stage, code ?? '', { identity: guest.identity, email: 'guest@example.com' }),
      'accepted',
    )
  },

  async 'an invite cannot grant more capabilities than the caller has'({ succeed, fail, platform, owner }) {
    const host = await platform.addIdentityWith(owner.organization, [
      'CAP_IAM_GROUP_INVITES_CREATE',
      'CAP_IAM_ROLE_BINDINGS_CREATE',
    ])
    const request = (role: string) => ({
      parent: owner.organization,
      groupInvite: { roleUid: role, ttl: '60s' },
    })
    assert.equal((await fail(createGroupInvite, request(roleUid), host.token)).code, 7)
    const { uid } = (await succeed(createGroupInvite, request(host.role), host.token)) as { uid: string }
    const widen = { groupInvite: { uid, roleUid } }
    assert.equal((await fail(updateGroupInvite, widen, host.token)).code, 7)
    await succeed(updateGroupInvite, widen)
    // Nor can the caller change the email address of an invite whose role has more capabilities than the caller.
    const changeEmail = { groupInvite: { uid, email: 'me@example.com' } }
    assert.equal((await fail(updateGroupInvite, changeEmail, host.token)).code, 7)
  },

  async 'accepting grants the role once, and accepting again succeeds'(stage) {
    const { platform, succeed, owner } = stage
    const { code } = (await invite(stage)) as { code: string }
    const { identity, token } = await platform.addIdentity('')
    for (let time = 0; time < 2; time++) {
      assert.equal(await accept(stage, code, { identity, email: undefined }), 'accepted')
    }
    assert.equal((await succeed(getGroup, { uid: owner.organization }, token)).uid, owner.organization)
    assert.equal((await succeed(listRoleBindings, { identity })).totalCount, '1')
  },

  async 'a single-use invite works once, also when two people accept at the same time'(stage) {
    const { platform, succeed, owner } = stage
    const { code, uid } = (await invite(stage, { singleUse: true })) as { code: string; uid: string }
    const guests = await Promise.all([platform.addIdentity(''), platform.addIdentity('')])
    const answers = await Promise.all(
      guests.map(({ identity }) => accept(stage, code, { identity, email: undefined })),
    )
    assert.deepEqual(answers.map((answer) => answer === 'accepted').sort(), [false, true])
    assert.match(answers.find((answer) => answer !== 'accepted') ?? '', refusalMessage)
    assert.equal(
      (await succeed(listRoleBindings, { group: owner.organization, role: roleUid })).totalCount,
      '1',
    )
    assert.deepEqual(await succeed(deleteGroupInvite, { uid }), {})
  },

  async 'every unusable code gets the same error'(stage) {
    const { identity } = await stage.platform.addIdentity('')
    const { code } = (await invite(stage, { email: 'guest@example.com' })) as { code: string }
    const altered = Buffer.from(code, 'base64')
      .toString()
      .replace(/(?<="sec":")./, (first) => (first === 'A' ? 'B' : 'A'))
    const guest = { identity, email: 'guest@example.com' }
    const afterExpiration = Date.now() + 3_700_000
    const answers = [
      await accept(stage, code, { identity, email: undefined }),
      await accept(stage, code, { identity, email: 'else@example.com' }),
      await accept(stage, code, guest, afterExpiration),
      await accept(stage, Buffer.from(altered).toString('base64'), guest),
      await accept(stage, 'no code', guest),
      await accept(stage, '', guest),
    ]
    for (const answer of answers) assert.equal(answer, answers[0])
    assert.match(answers[0] ?? '', refusalMessage)
    assert.equal(await accept(stage, code, { identity, email: 'Guest@Example.com' }), 'accepted')
  },

  async 'an invite remains after its role is deleted, and grants nothing'(stage) {
    const { owner, succeed } = stage
    const role = { name: 'short-lived', capabilities: ['CAP_IAM_GROUPS_LIST'] }
    const shortLivedRole = await make(stage, createRole, { parent: owner.organization, role })
    const { uid, code } = (await invite(stage, { roleUid: shortLivedRole })) as { uid: string; code: string }
    await succeed(deleteRole, { uid: shortLivedRole })
    assert.ok(!('role' in (await succeed(getGroupInvite, { uid }))))
    const { identity } = await stage.platform.addIdentity('')
    assert.match(await accept(stage, code, { identity, email: undefined }), /was deleted/)
  },
})
