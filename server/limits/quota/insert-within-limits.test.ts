// Every create obeys the quotas, even those that are set while it is running.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { StatusError } from '../../aip/errors.ts'
import { operatorAccess } from '../../policy/system-access.ts'
import { checkTally } from '../../store/check.ts'
import type { Store } from '../../store/db.ts'
import { listsQuota, quotasBetween, readUsage, replaceQuotas } from '../../store/quota.ts'
import { sql } from '../../store/sql.ts'
import type { Table } from '../../store/table.ts'
import { storedForm } from '../../store/table.ts'
import { onEachMigrated, openMigrated } from '../../store/test-stores.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { QuotaAccess, WriteAccess } from '../../store/write-access.ts'
import { insertWithinLimits } from './insert-within-limits.ts'

const groups: Table = {
  ...{ name: 'groups', columns: [], hasChildren: true, hasGroupUids: true, isIndexedByParent: true },
  rendered: storedForm,
}

let uidCount = 0
const newRoot = () => (++uidCount).toString(16).padStart(40, '0')
const newChild = (parent: string) => `${parent}/${(++uidCount).toString(16).padStart(16, '0')}`

/** The access of a call that has read these quotas. */
function accessWith(
  quotas: Pick<QuotaAccess, 'quotasInOrganization'>,
  defaults = new Map<string, number>(),
): WriteAccess {
  return { ...operatorAccess, quotas: { defaults, mayNameInErrors: () => true, ...quotas } }
}
const nothingListed = (organization: string) =>
  accessWith({ quotasInOrganization: { organization, text: null } })

/** Creates an organization, or a group directly in one. */
function* createGroup(access: WriteAccess, uid: string): Work<void> {
  const [root = '', ...rest] = uid.split('/')
  const parent = rest.length === 0 ? null : root
  const entry = { uid, root, name: 'x', parent, columns: {}, createTime: 1, updateTime: 1 }
  const row = { ...entry, proto: new Uint8Array(), json: '{}', shape: '' }
  yield* insertWithinLimits(access, groups, [row], parent === null ? [] : [root])
}

const isRefused = (error: unknown) => error instanceof StatusError && error.code === 8

onEachMigrated(['SQLite', 'PostgreSQL'], 'quotas', (testStore) => {
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
  })

  const newOrganization = async (quotas: Record<string, number> = {}) => {
    const root = newRoot()
    await store.write(function* () {
      yield* createGroup(accessWith({}), root)
      yield* replaceQuotas(root, new Map(Object.entries(quotas)))
    })
    return root
  }
  const create = (access: WriteAccess, parent: string) =>
    store.write(() => createGroup(access, newChild(parent)))

  test('a create that has not looked for quotas is refused at the limit', async () => {
    const root = await newOrganization({ groups: 1 })
    await create(accessWith({}), root)
    await assert.rejects(create(accessWith({}), root), isRefused)
  })

  test('the quotas of an organization are listed as text, without those of other organizations', async () => {
    const [root, other] = [await newOrganization({ groups: 5, repos: 1 }), await newOrganization()]
    const listed = async (uid: string) => {
      const row = await store.read(() => first(sql`select ${quotasBetween(uid, `${uid}0`)}`))
      return row?.[0] as string | null
    }
    assert.equal(await listed(other), null)
    const text = await listed(root)
    assert.deepEqual(
      [
        listsQuota(text, 'groups', [root]),
        listsQuota(text, 'tags', [root]),
        listsQuota(text, 'groups', [other]),
      ],
      [true, false, false],
    )
  })

  test('an incomplete list does not tell whether a group has a quota', async () => {
    const root = await newOrganization()
    await store.write(function* () {
      for (let count = 0; count < 25; count++) yield* replaceQuotas(newChild(root), new Map([['repos', 1]]))
    })
    const [row] = await store.query(sql`select ${quotasBetween(root, `${root}0`)}`)
    assert.equal(listsQuota(row?.[0] as string, 'tags', [root]), undefined)
  })

  test('replacing quotas removes those that are not named, and keeps the counts', async () => {
    const root = await newOrganization({ groups: 5, repos: 1 })
    await create(accessWith({}), root)
    await store.write(() => replaceQuotas(root, new Map([['groups', 2]])))
    assert.deepEqual(await store.read(() => readUsage('groups', [root])), [
      { kind: 'groups', group: root, used: 1, quota: 2 },
    ])
    assert.deepEqual((await store.read(() => readUsage('repos', [root])))[0]?.quota, undefined)
    assert.deepEqual(await checkTally(store, ['groups'], true), [])
  })

  test('defaults limit only organizations that have no limit of their own', async () => {
    const defaults = new Map([['groups', 1]])
    const [plain, raised] = [await newOrganization(), await newOrganization({ groups: 2 })]
    for (const root of [plain, raised]) await create(accessWith({}, defaults), root)
    await assert.rejects(create(accessWith({}, defaults), plain), isRefused)
    await create(accessWith({}, defaults), raised)
    await assert.rejects(create(accessWith({}, defaults), raised), isRefused)
  })

  test('a write without quotas, such as that of the operator, is counted and never refused', async () => {
    const root = await newOrganization({ groups: 0 })
    await create(operatorAccess, root)
    assert.equal((await store.read(() => readUsage('groups', [root])))[0]?.used, 1)
  })
})

onEachMigrated(['PostgreSQL'], 'quotas that are set while a create is running', (testStore) => {
  let store: Store
  before(async () => {
    store = await openMigrated(testStore())
  })

  test('apply to a create that has not been counted yet', async () => {
    const root = newRoot()
    await store.write(() => createGroup(accessWith({}), root))
    const created = store.write(function* () {
      const access = nothingListed(root)
      yield* testStore().runElsewhere(
        sql`insert into tally select 'groups', ${root}, n, 0, 0, 0 from generate_series(0, 15) n`,
      )
      yield* createGroup(access, newChild(root))
    })
    await assert.rejects(created, isRefused)
  })

  test('wait for a create that has been counted', async () => {
    const root = newRoot()
    await store.write(() => createGroup(accessWith({}), root))
    let isCommitted = false
    let setting: Promise<void> | undefined
    const other = testStore().open()
    const created = store.write(function* () {
      yield* createGroup(nothingListed(root), newChild(root))
      setting ??= other.write(function* () {
        yield* replaceQuotas(root, new Map([['groups', 1]]))
        assert.ok(isCommitted, 'the quota was set before the create had ended')
      })
      yield sql`select pg_sleep(0.05)`
      isCommitted = true // nothing but the commit follows
    })
    await created
    await setting
    await assert.rejects(
      store.write(() => createGroup(accessWith({}), newChild(root))),
      isRefused,
    )
  })
})
