// People find their organization by e-mail domain, request access and get it.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupAccessRequestsService } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { verifyOrganization } from '../../server/commands/verify.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, violations } from '../contract/examples.ts'

const { lookupGroup, checkEligibility, requestGroupAccess, updateGroup, getGroup } = GroupsService.method
const { listGroupAccessRequests, approveGroupAccessRequest, deleteGroupAccessRequest } =
  GroupAccessRequestsService.method

const viewer = builtInRole('viewer').uid

/**
 * Names the organization after a domain and verifies it. Each call uses a new domain, because a
 * domain can have only one organization.
 */
async function verifyDomain({ platform, owner, succeed }: ExampleContext): Promise<string> {
  const domain = `${randomBytes(8).toString('hex')}.example.com`
  await succeed(updateGroup, { group: { uid: owner.organization, name: domain } })
  await verifyOrganization(platform.store, owner.organization, { isVerified: true, now: Date.now() })
  return domain
}

examples('access to organizations', {
  async 'people of a verified domain find their organization'(stage) {
    const { platform, owner, succeed, fail } = stage
    const domain = await verifyDomain(stage)
    const member = await platform.addUser(`member@${domain.toUpperCase()}`)
    const { group } = (await succeed(lookupGroup, {}, member.token)) as { group: JsonObject }
    assert.deepEqual([group.uid, group.verified], [owner.organization, true])
    assert.deepEqual(await succeed(checkEligibility, {}, member.token), { eligible: true })
    for (const email of [`member@sub.${domain}`, 'else@example.org']) {
      const other = await platform.addUser(email)
      assert.equal((await fail(lookupGroup, {}, other.token)).code, 5)
      assert.deepEqual(await succeed(checkEligibility, {}, other.token), { eligible: false })
    }
  },

  async 'an unverified organization named after a domain is not found'({ platform, succeed, fail, owner }) {
    const domain = `${randomBytes(8).toString('hex')}.example.com`
    await succeed(updateGroup, { group: { uid: owner.organization, name: domain } })
    const member = await platform.addUser(`member@${domain}`)
    assert.equal((await fail(lookupGroup, {}, member.token)).code, 5)
    const request = { groupUid: owner.organization }
    assert.equal((await fail(requestGroupAccess, request, member.token)).code, 5)
  },

  async 'a request can be made once, and owners list and approve it'(stage) {
    const { platform, owner, succeed, fail } = stage
    const member = await platform.addUser(`member@${await verifyDomain(stage)}`)
    const request = { groupUid: owner.organization }
    assert.deepEqual(await succeed(requestGroupAccess, request, member.token), {})
    assert.equal((await fail(requestGroupAccess, request, member.token)).code, 8)
    const listed = await succeed(listGroupAccessRequests, {})
    const [pending] = listed.groupAccessRequests as { uid: string; identity: JsonObject }[]
    assert.equal(listed.totalCount, '1')
    assert.equal(pending?.identity.uid, member.identity)
    const uid = pending?.uid ?? ''
    assert.deepEqual(violations(await fail(approveGroupAccessRequest, { uid })), ['roleUid'])
    const binding = await succeed(approveGroupAccessRequest, { uid, roleUid: viewer })
    assert.equal((binding.identity as JsonObject).uid, member.identity)
    assert.equal((await succeed(getGroup, { uid: owner.organization }, member.token)).uid, owner.organization)
    assert.equal((await succeed(listGroupAccessRequests, {})).totalCount, '0')
    assert.equal((await fail(approveGroupAccessRequest, { uid, roleUid: viewer })).code, 5)
  },

  async 'a request can be declined, and made again'(stage) {
    const { platform, owner, succeed } = stage
    const member = await platform.addUser(`member@${await verifyDomain(stage)}`)
    const request = { groupUid: owner.organization }
    await succeed(requestGroupAccess, request, member.token)
    const listed = await succeed(listGroupAccessRequests, {})
    const [{ uid } = { uid: '' }] = listed.groupAccessRequests as { uid: string }[]
    for (let time = 0; time < 2; time++) await succeed(deleteGroupAccessRequest, { uid })
    await succeed(requestGroupAccess, request, member.token)
  },

  async 'an approval cannot grant more than the caller holds'(stage) {
    const { platform, owner, succeed, fail } = stage
    const member = await platform.addUser(`member@${await verifyDomain(stage)}`)
    await succeed(requestGroupAccess, { groupUid: owner.organization }, member.token)
    const listed = await succeed(listGroupAccessRequests, {})
    const [{ uid } = { uid: '' }] = listed.groupAccessRequests as { uid: string }[]
    const approver = await platform.addIdentityWith(owner.organization, [
      'CAP_IAM_GROUP_INVITES_CREATE',
      'CAP_IAM_ROLE_BINDINGS_CREATE',
    ])
    const approve = (roleUid: string) => ({ uid, roleUid })
    assert.equal((await fail(approveGroupAccessRequest, approve(viewer), approver.token)).code, 7)
    await succeed(approveGroupAccessRequest, approve(approver.role), approver.token)
  },

  async 'the owner cannot rename a verified organization'(stage) {
    await verifyDomain(stage)
    const uid = stage.owner.organization
    assert.equal((await stage.fail(updateGroup, { group: { uid, name: 'other.example.com' } })).code, 7)
    const described = await stage.succeed(updateGroup, { group: { uid, description: 'ours' } })
    assert.equal(described.description, 'ours')
  },
})
