// Groups, as docs/specification.md describes them.
import assert from 'node:assert/strict'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { detail, examples, violations } from '../contract/examples.ts'

const { getGroup, listGroups, createGroup, updateGroup, deleteGroup } = GroupsService.method

const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

examples('groups', {
  async 'a new group has exactly the documented fields'({ succeed, owner }) {
    const group = await succeed(createGroup, {
      parent: owner.organization,
      group: { name: 'team-a', description: 'the first team' },
    })
    const { uid, createTime, updateTime, ...rest } = group
    assert.deepEqual(rest, {
      name: 'team-a',
      description: 'the first team',
      resourceLimits: {},
      verified: false,
    })
    assert.match(uid as string, new RegExp(`^${owner.organization}/[0-9a-f]{16}$`))
    assert.match(createTime as string, timestamp)
    assert.equal(updateTime, createTime)
    assert.deepEqual(await succeed(getGroup, { uid: uid as string }), group)
  },

  async 'the service assigns uid, times, limits and status, whatever the request says'({ succeed, owner }) {
    const group = await succeed(createGroup, {
      parent: owner.organization,
      group: {
        name: 'a',
        uid: '0'.repeat(40),
        createTime: '2001-01-01T00:00:00Z',
        resourceLimits: { repositories: 5 },
        status: 'ORG_STATUS_READY',
      },
    })
    assert.notEqual(group.uid, '0'.repeat(40))
    assert.doesNotMatch(group.createTime as string, /^2001/)
    assert.deepEqual(group.resourceLimits, {})
    assert.ok(!('status' in group))
  },

  async 'groups can be nested, and siblings may have the same name'({ succeed, owner }) {
    const first = await succeed(createGroup, { parent: owner.organization, group: { name: 'same' } })
    const second = await succeed(createGroup, { parent: owner.organization, group: { name: 'same' } })
    const inner = await succeed(createGroup, { parent: first.uid as string, group: { name: 'same' } })
    assert.notEqual(first.uid, second.uid)
    assert.ok((inner.uid as string).startsWith(`${first.uid}/`))
  },

  async 'a group without a parent is an organization, and its creator owns it'({ succeed, owner }) {
    const organization = await succeed(createGroup, { group: { name: 'second org' } })
    assert.match(organization.uid as string, /^[0-9a-f]{40}$/)
    const inner = await succeed(createGroup, { parent: organization.uid as string, group: { name: 'inner' } })
    const listed = await succeed(listGroups, {})
    const uids = (listed.groups as { uid: string }[]).map(({ uid }) => uid)
    assert.deepEqual(uids, [owner.organization, organization.uid, inner.uid].sort())
  },

  async 'an organization that contains only the bindings of its owner can be deleted'({ succeed, fail }) {
    const { uid } = (await succeed(createGroup, { group: { name: 'short-lived' } })) as { uid: string }
    assert.deepEqual(await succeed(deleteGroup, { uid }), {})
    assert.equal((await fail(getGroup, { uid })).code, 7)
  },

  async 'deleting returns an empty body, and the group is gone'({ succeed, fail, owner }) {
    const { uid } = (await succeed(createGroup, { parent: owner.organization, group: { name: 'a' } })) as {
      uid: string
    }
    assert.deepEqual(await succeed(deleteGroup, { uid }), {})
    for (const method of [getGroup, deleteGroup]) {
      const error = await fail(method, { uid })
      assert.equal(error.code, 5)
      assert.equal(detail(error, 'ResourceInfo')?.resourceName, uid)
    }
    assert.equal((await fail(updateGroup, { group: { uid, name: 'b' } })).code, 5)
  },

  async 'a name is required and must match its pattern'({ fail, owner }) {
    for (const name of ['', 'Team', 'team/a', 'tëam', 'a\u0000', 'a'.repeat(256)]) {
      const error = await fail(createGroup, { parent: owner.organization, group: { name } })
      assert.equal(error.code, 3)
      assert.match(error.message, /^Invalid argument: name: /)
      assert.equal(detail(error, 'ErrorInfo')?.reason, 'INVALID_ARGUMENT')
      assert.deepEqual(violations(error), ['name'])
    }
    assert.deepEqual(violations(await fail(createGroup, { parent: owner.organization, group: {} })), ['name'])
  },

  async 'names of 255 characters and all allowed characters are accepted'({ succeed, owner }) {
    const name = 'abcdefghijklmnopqrstuvwxyz 0123456789._-'.repeat(7).slice(0, 255)
    const group = await succeed(createGroup, { parent: owner.organization, group: { name } })
    assert.equal(group.name, name)
  },

  async 'descriptions have at most 512 characters and no control characters except tabs and line breaks'(
    stage,
  ) {
    const { succeed, fail, owner } = stage
    const create = (description: string) => ({
      parent: owner.organization,
      group: { name: 'a', description },
    })
    // The tree is one character, but two UTF-16 code units.
    const longest = `line one\n\tline two 🌳${'é'.repeat(512)}`.slice(0, 513)
    assert.equal([...longest].length, 512)
    assert.equal((await succeed(createGroup, create(longest))).description, longest)
    for (const description of ['x'.repeat(513), 'bell \u0007', 'nul \u0000', 'del \u007f']) {
      assert.deepEqual(violations(await fail(createGroup, create(description))), ['description'])
    }
  },

  async 'a group that is not empty cannot be deleted'({ succeed, fail, owner, platform }) {
    const { uid } = (await succeed(createGroup, { parent: owner.organization, group: { name: 'a' } })) as {
      uid: string
    }
    const child = (await succeed(createGroup, { parent: uid, group: { name: 'b' } })) as { uid: string }
    const error = await fail(deleteGroup, { uid })
    assert.equal(error.code, 9)
    assert.match(error.message, /^Precondition failed: /)
    assert.equal(detail(error, 'ErrorInfo')?.reason, 'FAILED_PRECONDITION')
    assert.deepEqual(detail(error, 'PreconditionFailure')?.violations, [
      { type: 'RESOURCE_NOT_EMPTY', description: 'cannot delete group with child groups' },
    ])
    await succeed(deleteGroup, { uid: child.uid })
    await platform.addIdentity(uid, 'viewer')
    assert.match((await fail(deleteGroup, { uid })).message, /identities, role bindings/)
    assert.deepEqual((await succeed(getGroup, { uid })).name, 'a')
  },

  async 'groups can be nested at most 32 levels deep'({ succeed, fail, owner }) {
    let parent = owner.organization
    for (let depth = 2; depth <= 32; depth++) {
      parent = (await succeed(createGroup, { parent, group: { name: `level ${depth}` } })).uid as string
    }
    assert.equal((await fail(createGroup, { parent, group: { name: 'too deep' } })).code, 9)
  },

  async 'a group cannot be created in a parent that does not exist'({ fail, owner }) {
    const parent = `${owner.organization}/${'0'.repeat(16)}`
    const error = await fail(createGroup, { parent, group: { name: 'a' } })
    assert.equal(error.code, 5)
    assert.equal(detail(error, 'ResourceInfo')?.resourceName, parent)
  },

  async 'a request may repeat the value of an operator-only field, but not change it'({
    succeed,
    fail,
    owner,
  }) {
    const parent = owner.organization
    assert.equal((await fail(createGroup, { parent, group: { name: 'a', verified: true } })).code, 7)
    assert.equal((await fail(createGroup, { parent, group: { name: 'a', kind: 'ORG_KIND_DEV' } })).code, 7)
    const { uid } = (await succeed(createGroup, { parent, group: { name: 'a', verified: false } })) as {
      uid: string
    }
    assert.equal(
      (await succeed(updateGroup, { group: { uid, verified: false }, updateMask: 'verified' })).verified,
      false,
    )
    assert.equal(
      (await fail(updateGroup, { group: { uid, verified: true }, updateMask: 'verified' })).code,
      7,
    )
    assert.equal((await fail(updateGroup, { group: { uid, kind: 'ORG_KIND_INFRA' } })).code, 7)
    assert.equal((await succeed(getGroup, { uid })).verified, false)
  },
})
