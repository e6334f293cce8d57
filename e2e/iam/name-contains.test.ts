// Lists by a part of a name, as docs/specification.md describes them.
import assert from 'node:assert/strict'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { examples } from '../contract/examples.ts'

const { createGroup, listGroups } = GroupsService.method
const { createIdentity, listIdentities } = IdentitiesService.method

const namesOf = (list: unknown) => (list as { name: string }[]).map(({ name }) => name)

examples('lists by a part of a name', {
  async 'contain the groups whose name contains the text'({ succeed, owner }) {
    const parent = owner.organization
    for (const name of ['platform', 'flat', 'plan_b', 'planxb', '100.5'])
      await succeed(createGroup, { parent, group: { name } })
    const find = async (nameContains: string, more = {}) => {
      const { groups, totalCount } = await succeed(listGroups, { nameContains, orderBy: 'name', ...more })
      assert.equal(totalCount, String((groups as unknown[]).length))
      return namesOf(groups)
    }
    assert.deepEqual(await find('lat'), ['flat', 'platform'])
    assert.deepEqual(await find('LAT'), ['flat', 'platform'])
    assert.deepEqual(await find('lat', { orderBy: 'name desc' }), ['platform', 'flat'])
    assert.deepEqual(await find('lat', { uidp: { childrenOf: parent } }), ['flat', 'platform'])
    assert.deepEqual(await find('lat', { name: 'flat' }), ['flat'])
    // Characters that are wildcards in SQL stand for themselves.
    assert.deepEqual(await find('n_b'), ['plan_b'])
    assert.deepEqual(await find('%'), [])
    assert.deepEqual(await find('\\'), [])
    assert.deepEqual(await find("' or 1=1 --"), [])
    assert.deepEqual(await find('0.5'), ['100.5'])
  },

  async 'have pages'({ succeed, owner }) {
    const parent = owner.organization
    for (const name of ['web-1', 'web-2', 'api', 'web-3'])
      await succeed(createGroup, { parent, group: { name } })
    const request = { nameContains: 'web', orderBy: 'name', pageSize: 2 }
    const first = await succeed(listGroups, request)
    assert.deepEqual([namesOf(first.groups), first.totalCount], [['web-1', 'web-2'], '3'])
    const second = await succeed(listGroups, { ...request, pageToken: first.nextPageToken as string })
    assert.deepEqual([namesOf(second.groups), second.nextPageToken], [['web-3'], undefined])
  },

  async 'exist for identities, roles and repos, too'({ succeed, owner }) {
    const parent = owner.organization
    const claimMatch = { issuer: 'https://issuer.example.com', subject: 'ci' }
    await succeed(createIdentity, { parent, identity: { name: 'release bot', claimMatch } })
    const { identities } = await succeed(listIdentities, { nameContains: 'Release' })
    assert.deepEqual(namesOf(identities), ['release bot'])
    const { roles } = await succeed(RolesService.method.listRoles, { nameContains: 'onsole_view' })
    assert.deepEqual(namesOf(roles), ['console_viewer'])
    await succeed(ReposService.method.createRepo, { parent, repo: { name: 'nginx' } })
    for (const [text, names] of [
      ['gin', ['nginx']],
      ['apache', []],
    ] as const) {
      const { repos } = await succeed(ReposService.method.listRepos, { nameContains: text })
      assert.deepEqual(namesOf(repos), names)
    }
  },

  async 'contain only what the caller may see'({ succeed, owner, platform }) {
    const stranger = await platform.addOrganization('beta')
    await succeed(createGroup, { parent: owner.organization, group: { name: 'hidden' } })
    const { groups } = await succeed(listGroups, { nameContains: 'hidden' }, stranger.token)
    assert.deepEqual(groups, [])
  },
})
