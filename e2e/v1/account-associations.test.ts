// Account associations through v1, where the id of the group identifies them.
import assert from 'node:assert/strict'
import { GroupAccountAssociations } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { examples, violations } from '../contract/examples.ts'

const v1 = GroupAccountAssociations.method
const v2 = AccountAssociationsService.method

const accounts = {
  ...{ name: 'accounts', description: 'ours' },
  amazon: { account: '123456789012' },
  google: { projectId: 'acme', projectNumber: '42' },
  azure: { tenantId: 'tenant', clientIds: { agent: 'client' } },
  github: { appInstallations: { 7: { installations: [{ installationId: '9', name: 'acme' }] } } },
}

examples('account associations of v1', {
  async 'an association created by v1 is visible in v2'({ succeed, fail, owner }) {
    const group = owner.organization
    const chainguard = { serviceBindings: { agent: owner.identity } }
    const created = await succeed(v1.create, { group, ...accounts, chainguard })
    assert.deepEqual(created, { group, ...accounts, chainguard })
    const { uid, createTime, updateTime, ...stored } = await succeed(v2.getAccountAssociation, { uid: group })
    assert.ok(createTime && updateTime)
    assert.deepEqual([uid, stored], [group, { ...accounts, chainguard }])
    assert.deepEqual(await succeed(v1.list, { group }), { items: [created] })
    assert.deepEqual(await succeed(v1.list, { name: 'accounts' }), { items: [created] })
    assert.deepEqual(await succeed(v1.list, { name: 'others' }), { items: [] })
    assert.equal((await fail(v1.create, { group, ...accounts })).code, 6)
  },

  async 'a check gives the reason why an account is not ready'({ succeed, fail, owner }) {
    const group = owner.organization
    const { azure, ...others } = accounts
    assert.ok(azure)
    await succeed(v1.create, { group, ...others })
    const check = (accountType: string) => succeed(v1.check, { group, accountType })
    assert.deepEqual(await check('AMAZON'), {
      ...{ ready: 'NotReady', reason: 'CLOUD_NOT_REACHABLE' },
      message: 'this server has no way to reach AWS',
    })
    assert.equal((await check('AZURE')).reason, 'NOT_ASSOCIATED')
    assert.deepEqual(violations(await fail(v1.check, { group })), ['accountType'])
    assert.equal(
      (await fail(v1.check, { group: `${group}/${'0'.repeat(16)}`, accountType: 'GOOGLE' })).code,
      5,
    )
  },

  async 'an update replaces all fields'({ succeed, fail, owner }) {
    const group = owner.organization
    await succeed(v1.create, { group, ...accounts })
    const changed = await succeed(v1.update, { group, name: 'less', amazon: { account: '210987654321' } })
    const { amazon, google = null, github = null, description } = changed
    assert.deepEqual([amazon, google, github, description], [{ account: '210987654321' }, null, null, ''])
    const stored = await succeed(v2.getAccountAssociation, { uid: group })
    assert.deepEqual([stored.name, stored.google ?? null], ['less', null])
    const wrong = { group, name: 'less', amazon: { account: '1' } }
    assert.deepEqual(violations(await fail(v1.update, wrong)), ['amazon.account'])
    assert.deepEqual(violations(await fail(v1.list, { group: 'acme' })), ['group'])
  },

  async 'deleting a deleted association succeeds'({ succeed, owner }) {
    const group = owner.organization
    await succeed(v1.create, { group, ...accounts })
    await succeed(v1.delete, { group })
    assert.deepEqual(await succeed(v1.list, { group }), { items: [] })
    await succeed(v1.delete, { group })
  },
})
