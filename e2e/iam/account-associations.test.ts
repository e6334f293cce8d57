// Account associations: at most one for each group, under the group's own uid.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { AuditEntriesService } from '@stemma/api/gen/platform/audit/v2beta1/audit_entry_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, make, violations } from '../contract/examples.ts'

const { getAccountAssociation, listAccountAssociations, createAccountAssociation } =
  AccountAssociationsService.method
const { updateAccountAssociation, deleteAccountAssociation, checkAccountAssociation } =
  AccountAssociationsService.method
const { createGroup, deleteGroup } = GroupsService.method
const { createIdentity, deleteIdentity } = IdentitiesService.method

const accounts = {
  amazon: { account: '123456789012' },
  google: { projectId: 'acme-prod', projectNumber: '42' },
  azure: { tenantId: 'tenant', clientIds: { scanner: 'client' } },
  github: { appInstallations: { '7': { installations: [{ installationId: '9', name: 'acme' }] } } },
}

const makeGroup = (stage: ExampleContext, parent = stage.owner.organization) =>
  make(stage, createGroup, { parent, group: { name: 'team' } })
const associate = (stage: ExampleContext, parent: string, fields: JsonObject = accounts) =>
  stage.succeed(createAccountAssociation, { parent, accountAssociation: { name: 'accounts', ...fields } })

examples('account associations', {
  async 'an association has the uid of its group and stores accounts of every provider'(stage) {
    const group = await makeGroup(stage)
    const services = { chainguard: { serviceBindings: { INGESTER: stage.owner.identity } } }
    const association = await associate(stage, group, { ...accounts, ...services })
    const { createTime, updateTime, ...fields } = association
    assert.deepEqual(fields, { uid: group, name: 'accounts', description: '', ...accounts, ...services })
    assert.equal(updateTime, createTime)
    assert.deepEqual(await stage.succeed(getAccountAssociation, { uid: group }), association)
  },

  async 'a group has at most one association, and the group must exist'(stage) {
    const { fail, owner } = stage
    const group = await makeGroup(stage)
    await associate(stage, group)
    const again = { parent: group, accountAssociation: { name: 'again' } }
    assert.equal((await fail(createAccountAssociation, again)).code, 6)
    const nowhere = { parent: `${owner.organization}/${'0'.repeat(16)}`, accountAssociation: { name: 'x' } }
    assert.equal((await fail(createAccountAssociation, nowhere)).code, 5)
  },

  async 'the audit log of a group contains every change of its association'(stage) {
    const group = await makeGroup(stage)
    await associate(stage, group)
    await stage.succeed(deleteAccountAssociation, { uid: group })
    const { entries } = await stage.succeed(AuditEntriesService.method.listAuditEntries, {
      ...{ uidp: { childrenOf: group }, kind: 'account_associations' },
    })
    assert.deepEqual(
      (entries as { action: string }[]).map(({ action }) => action),
      ['deleted', 'created'],
    )
  },

  async 'lists filter, order and count associations in the same way as groups'(stage) {
    const { owner, succeed } = stage
    const groups = [owner.organization, await makeGroup(stage), await makeGroup(stage)]
    const inner = await makeGroup(stage, groups[1])
    for (const group of [...groups, inner]) await associate(stage, group)
    const uids = async (request: JsonObject) => {
      const list = await succeed(listAccountAssociations, request)
      const listed = (list.accountAssociations as { uid: string }[]).map(({ uid }) => uid)
      assert.equal(list.totalCount, String(listed.length))
      return listed
    }
    const all = [...groups, inner].sort()
    assert.deepEqual(await uids({}), all)
    assert.deepEqual(await uids({ orderBy: 'group desc' }), all.toReversed())
    assert.deepEqual(await uids({ uidp: { descendantsOf: owner.organization } }), all.slice(1))
    assert.deepEqual(await uids({ uidp: { childrenOf: groups[1] as string } }), [inner])
    assert.deepEqual(await uids({ uidp: { inRoot: true } }), [owner.organization])
    const first = await succeed(listAccountAssociations, { pageSize: 3 })
    const pageToken = first.nextPageToken as string
    const second = await succeed(listAccountAssociations, { pageSize: 3, pageToken })
    assert.deepEqual([first.totalCount, (second.accountAssociations as []).length], ['4', 1])
  },

  async 'every account is validated'(stage) {
    const parent = await makeGroup(stage)
    const violationsOf = async (fields: JsonObject) =>
      violations(
        await stage.fail(createAccountAssociation, { parent, accountAssociation: { name: 'a', ...fields } }),
      )
    assert.deepEqual(await violationsOf({ amazon: { account: '12' } }), ['amazon.account'])
    assert.deepEqual(await violationsOf({ google: {} }), ['google.projectId', 'google.projectNumber'])
    assert.deepEqual(await violationsOf({ azure: { tenantId: 't' } }), ['azure.clientIds'])
    assert.deepEqual(await violationsOf({ chainguard: { serviceBindings: { INGESTER: 'me' } } }), [
      'chainguard.serviceBindings[INGESTER]',
    ])
  },

  async 'an update replaces one account and keeps the others'(stage) {
    const uid = await makeGroup(stage)
    await associate(stage, uid)
    const changed = await stage.succeed(updateAccountAssociation, {
      accountAssociation: { uid, amazon: { account: '999999999999' } },
    })
    assert.deepEqual(changed.amazon, { account: '999999999999' })
    assert.deepEqual(changed.google, accounts.google)
    const cleared = await stage.succeed(updateAccountAssociation, {
      accountAssociation: { uid },
      updateMask: 'google,github',
    })
    assert.deepEqual([cleared.google, cleared.github, cleared.azure], [undefined, undefined, accounts.azure])
  },

  async 'an update checks only the service bindings that it changes'(stage) {
    const uid = await makeGroup(stage)
    const claimMatch = { issuer: 'https://issuer.example.com', subject: 'ingester' }
    const identity = await make(stage, createIdentity, {
      parent: uid,
      identity: { name: 'ingester', claimMatch },
    })
    const bindings = { INGESTER: identity, COSIGNED: stage.owner.identity }
    await associate(stage, uid, { chainguard: { serviceBindings: bindings } })
    await stage.succeed(deleteIdentity, { uid: identity })
    const update = (fields: JsonObject) => ({ accountAssociation: { uid, ...fields } })
    await stage.succeed(updateAccountAssociation, update({ description: 'changed' }))
    const kept = { ...bindings, OTHER: stage.owner.identity }
    const changed = await stage.succeed(
      updateAccountAssociation,
      update({ chainguard: { serviceBindings: kept } }),
    )
    assert.deepEqual(changed.chainguard, { serviceBindings: kept })
    const wrong = update({ chainguard: { serviceBindings: { ...kept, OTHER: identity } } })
    assert.deepEqual(violations(await stage.fail(updateAccountAssociation, wrong)), [
      'chainguard.serviceBindings[OTHER]',
    ])
  },

  async 'a check reports that no cloud is reachable'(stage) {
    const uid = await makeGroup(stage)
    await associate(stage, uid, { amazon: accounts.amazon })
    const check = (cloud: string) =>
      stage.succeed(checkAccountAssociation, { uid, providerType: `ACCOUNT_PROVIDER_TYPE_${cloud}` })
    const amazon = await check('AMAZON')
    assert.deepEqual([amazon.status, amazon.reason], ['CHECK_STATUS_NOT_READY', 'CLOUD_NOT_REACHABLE'])
    assert.match(amazon.message as string, /AWS/)
    assert.equal((await check('AZURE')).reason, 'NOT_ASSOCIATED')
    assert.deepEqual(violations(await stage.fail(checkAccountAssociation, { uid })), ['providerType'])
  },

  async 'a group cannot be deleted before its association, and deleting the association twice succeeds'(
    stage,
  ) {
    const uid = await makeGroup(stage)
    await associate(stage, uid)
    const error = await stage.fail(deleteGroup, { uid })
    assert.match(error.message, /cannot delete group with child account associations/)
    assert.deepEqual(await stage.succeed(deleteAccountAssociation, { uid }), {})
    assert.deepEqual(await stage.succeed(deleteAccountAssociation, { uid }), {})
    await stage.succeed(deleteGroup, { uid })
  },
})
