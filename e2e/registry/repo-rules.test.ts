// Rules of repos: public, immutable tags and retention. Tests who may set them, and that clients
// that do not know them do not change them.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { sql } from '../../server/store/sql.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { detail, examples, violations } from '../contract/examples.ts'

const { getRepo, createRepo, updateRepo } = ReposService.method
const { createGroup } = GroupsService.method
const v1 = Registry.method

const rules = {
  public: true,
  immutableTags: ['v*', '*-final'],
  retention: {
    rules: [
      { tags: ['nightly-*'], keepMostRecent: 3, keepPushedWithin: '86400s' },
      { tags: ['v*'], keepMostRecent: 0 },
    ],
    deleteUntaggedAfter: '3600s',
  },
}

const makeRepo = async ({ succeed, owner }: ExampleContext, fields: JsonObject = {}, name = 'web') =>
  (await succeed(createRepo, { parent: owner.organization, repo: { name, ...fields } })).uid as string

const rulesOf = ({ public: isPublic, immutableTags, retention }: JsonObject) => ({
  ...{ public: isPublic, immutableTags, retention },
})

/** The capability that the caller lacks. */
const permissionOf = (error: Awaited<ReturnType<ExampleContext['fail']>>) => {
  assert.equal(error.code, 7)
  return (detail(error, 'ErrorInfo') as { metadata?: { permission?: string } }).metadata?.permission
}

examples('rules of repos', {
  async 'are stored, changed and cleared each by itself'(stage) {
    const { succeed, platform } = stage
    const uid = await makeRepo(stage, rules)
    assert.deepEqual(rulesOf(await succeed(getRepo, { uid })), rules)
    const columns = sql`select public, immutable_tags from repos where uid = ${uid}`
    assert.deepEqual(await platform.store.query(columns), [[1, 'v* *-final']])
    const unpublished = await succeed(updateRepo, { repo: { uid, public: false }, updateMask: 'public' })
    assert.deepEqual(rulesOf(unpublished), { ...rules, public: undefined })
    const mutable = await succeed(updateRepo, { repo: { uid }, updateMask: 'immutableTags' })
    assert.deepEqual(rulesOf(mutable), { ...rulesOf({}), retention: rules.retention })
    const cleared = await succeed(updateRepo, { repo: { uid }, updateMask: 'retention' })
    assert.deepEqual(rulesOf(cleared), rulesOf({}))
    assert.deepEqual(await platform.store.query(columns), [[0, '']])
  },

  async 'survive updates of clients that do not know them'(stage) {
    const { succeed } = stage
    const uid = await makeRepo(stage, rules)
    const replaced = await succeed(updateRepo, { repo: { uid, name: 'web' }, updateMask: '*' })
    assert.deepEqual(rulesOf(replaced), rules)
    await succeed(v1.updateRepo, { id: uid, name: 'web', readme: 'hello' })
    await succeed(v1.createRepo, { parentId: stage.owner.organization, repo: { name: 'web' } })
    assert.deepEqual(rulesOf(await succeed(getRepo, { uid })), rules)
    const changed = await succeed(updateRepo, {
      repo: { uid, name: 'web', public: false, immutableTags: ['*'] },
      updateMask: '*',
    })
    assert.deepEqual(rulesOf(changed), { ...rules, public: undefined, immutableTags: ['*'] })
  },

  async 'are refused if they are invalid, and the error names the invalid field'(stage) {
    const { fail, owner } = stage
    const faults: [JsonObject, string][] = [
      [{ immutableTags: ['v*', 'v 1'] }, 'immutableTags[1]'],
      [{ immutableTags: ['ü*'] }, 'immutableTags[0]'],
      [{ immutableTags: [''] }, 'immutableTags[0]'],
      [{ immutableTags: ['^(a+)+$'] }, 'immutableTags[0]'],
      [{ immutableTags: ['*'.repeat(129)] }, 'immutableTags[0]'],
      [{ immutableTags: Array(21).fill('a') }, 'immutableTags'],
      [{ retention: { rules: Array(11).fill({ tags: ['*'] }) } }, 'retention.rules'],
      [{ retention: { rules: [{ tags: ['a'] }, { tags: ['b', '['] }] } }, 'retention.rules[1].tags[1]'],
      [{ retention: { rules: [{}] } }, 'retention.rules[0]'],
      [{ retention: { rules: [{ keepMostRecent: -1 }] } }, 'retention.rules[0].keepMostRecent'],
      [{ retention: { rules: [{ keepMostRecent: 10_001 }] } }, 'retention.rules[0].keepMostRecent'],
      [{ retention: { rules: [{ keepPushedWithin: '59s' }] } }, 'retention.rules[0].keepPushedWithin'],
      [{ retention: { deleteUntaggedAfter: '-1s' } }, 'retention.deleteUntaggedAfter'],
      [{ retention: { deleteUntaggedAfter: '315700000s' } }, 'retention.deleteUntaggedAfter'],
    ]
    for (const [fields, field] of faults) {
      const error = await fail(createRepo, {
        parent: owner.organization,
        repo: { name: 'web', ...fields },
      })
      assert.deepEqual(violations(error), [field])
    }
  },

  async 'cannot be lifted, and a repo cannot be published, by a caller who only pushes'(stage) {
    const { succeed, fail, platform, owner } = stage
    const uid = await makeRepo(stage, { immutableTags: ['v*'] })
    const { token } = await platform.addIdentity(owner.organization, 'registry.push')
    const create = { parent: owner.organization, repo: { name: 'other', public: true } }
    assert.equal(permissionOf(await fail(createRepo, create, token)), 'role_bindings.create')
    const publish = { repo: { uid, public: true } }
    assert.equal(permissionOf(await fail(updateRepo, publish, token)), 'role_bindings.create')
    for (const repo of [
      { uid, immutableTags: ['w*'] },
      { uid, name: 'moved-away' },
    ])
      assert.equal(permissionOf(await fail(updateRepo, { repo }, token)), 'groups.update')
    await succeed(updateRepo, { repo: { uid, immutableTags: ['*', 'v*'] } }, token)
    await succeed(updateRepo, { repo: { uid, retention: rules.retention } }, token)
    await succeed(updateRepo, { repo: { uid, name: 'moved-away', immutableTags: ['w*'] } })
  },

  async 'protect the full name of a repo: callers who only push cannot give it to another repo'(stage) {
    const { succeed, fail, platform, owner } = stage
    const { organization } = owner
    const { token } = await platform.addIdentity(organization, 'registry.push')
    const group = async (parent: string, name: string) =>
      (await succeed(createGroup, { parent, group: { name } }, token)).uid as string
    const create = (parent: string, name: string, fields: JsonObject = {}) => ({
      ...{ parent, repo: { name, ...fields } },
    })
    const tools = await group(organization, 'tools')
    const web = await group(tools, 'web')
    await succeed(createRepo, create(web, 'base', { immutableTags: ['v*'] }))
    await succeed(createRepo, create(web, 'free'))
    for (const request of [create(tools, 'web/base'), create(organization, 'tools/web/base')])
      assert.equal(permissionOf(await fail(createRepo, request, token)), 'groups.update')
    const { uid } = await succeed(createRepo, create(organization, 'tools/web/free'), token)
    const renamed = { repo: { uid: uid as string, name: 'tools/web/base' } }
    assert.equal(permissionOf(await fail(updateRepo, renamed, token)), 'groups.update')
    await succeed(updateRepo, renamed)
  },

  async 'for retention can be set only with the capabilities to delete tags and manifests'(stage) {
    const { succeed, fail, platform, owner } = stage
    const uid = await makeRepo(stage, { retention: rules.retention })
    const { token } = await platform.addIdentity(owner.organization, 'editor')
    const changed = { repo: { uid, retention: { deleteUntaggedAfter: '7200s' } } }
    assert.equal(permissionOf(await fail(updateRepo, changed, token)), 'tag.delete')
    await succeed(updateRepo, { repo: { uid, description: 'kept', retention: rules.retention } }, token)
    await succeed(updateRepo, { repo: { uid }, updateMask: 'retention' }, token)
  },
})
