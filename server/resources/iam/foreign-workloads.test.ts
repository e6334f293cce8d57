import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { builtInRole } from '../../policy/built-in-roles.ts'
import type { Sql } from '../../store/sql.ts'
import { raw, sql } from '../../store/sql.ts'
import { recordStatements } from '../../store/test-stores.ts'
import { createMany } from '../../testing/create-many.ts'
import type { Platform } from '../../testing/platform.ts'
import { startPlatform } from '../../testing/platform.ts'
import { onEachStore } from '../../testing/stores.ts'
import { candidatesAmong, readForeignWorkloads } from './foreign-workloads.ts'
import { identities } from './identities/table.ts'
import { roleBindings } from './role-bindings/table.ts'

const now = 1_800_000_000_000
const hex = (at: number, digits: number) => at.toString(16).padStart(digits, '0')
const workloads = (organization: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${organization}/${hex(at, 16)}`)
const people = (count: number) => Array.from({ length: count }, (_, at) => hex(at, 40))

onEachStore('workloads of other organizations that have roles in an organization', (engine) => {
  let platform: Platform
  let organization: string
  let partner: string
  let bindingCount = 0
  before(async () => {
    platform = await startPlatform(engine)
    organization = platform.owner.organization
    partner = (await platform.addOrganization('partner')).organization
  })
  after(() => platform.stop())

  const createIdentities = (uids: string[]) =>
    platform.store.write(() =>
      createMany(
        identities,
        uids.map((uid) => [create(IdentitySchema, { name: 'many' }), { uid, now }]),
      ),
    )

  const bind = (uids: string[], role: string, expireTime?: number) =>
    platform.store.write(() =>
      createMany(
        roleBindings,
        uids.map((identity) => [
          create(
            RoleBindingSchema,
            expireTime === undefined ? {} : { expireTime: timestampFromMs(expireTime) },
          ),
          {
            uid: `${organization}/${hex(bindingCount++, 16)}`,
            now,
            columns: { identity, role: builtInRole(role).uid },
          },
        ]),
      ),
    )

  const read = () => platform.store.read(() => readForeignWorkloads(organization, now))

  async function explain(statement: Sql): Promise<string> {
    const command = raw(engine === 'sqlite' ? 'explain query plan' : 'explain (costs off)')
    const rows = await platform.store.query(sql`${command} ${statement}`)
    return rows.map((row) => row.at(-1)).join('\n')
  }

  test('are read from their own index, and people and own workloads are not read', async () => {
    const ownAndPeople = [...workloads(organization, 1500), ...people(1500)]
    await createIdentities(ownAndPeople)
    await bind(ownAndPeople, 'viewer')
    assert.deepEqual(await read(), [])
    const foreign = workloads(partner, 3)
    await createIdentities(workloads(partner, 1001))
    await bind(foreign, 'viewer')
    await bind(foreign, 'editor', now + 1)
    assert.deepEqual((await read())?.sort(), foreign)
    await platform.store.query(raw('/*pg analyze role_bindings, identities -- */ select 1'))
    const statements: Sql[] = []
    await platform.store.read(() => recordStatements(readForeignWorkloads(organization, now), statements))
    for (const statement of statements) {
      const plan = await explain(statement)
      assert.match(plan, /(?:COVERING INDEX|Index Only Scan using) role_bindings_of_foreign_workloads/)
      assert.match(plan, /\(root=\?|Index Cond: \(\(?root = /)
    }
  })

  test('are found by their uids if they may accept tokens of this server', async () => {
    for (const condition of candidatesAmong(workloads(partner, 10), 'http://stemma.test')) {
      const plan = await explain(sql`select proto from identities where ${condition} limit 101`)
      // PostgreSQL may also use another index that contains the uid. It must not read by `pattern_issuer`.
      assert.match(plan, /USING INDEX sqlite_autoindex_identities_1 \(uid=\?\)|Index Cond: \(uid = ANY/)
      assert.doesNotMatch(plan, /Index Cond: .*pattern_issuer/)
    }
  })

  test('are read without role bindings that have expired', async () => {
    await bind(workloads(partner, 10).slice(5), 'viewer', now)
    assert.deepEqual((await read())?.sort(), workloads(partner, 3))
  })

  test('are not read if they have more than 1000 role bindings there', async () => {
    await bind(workloads(partner, 994), 'owner')
    assert.equal((await read())?.length, 994)
    await bind(workloads(partner, 995).slice(994), 'owner')
    assert.equal(await read(), undefined)
  })
})
