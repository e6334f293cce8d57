// Concurrent calls that conflict with each other: the tree stays consistent, whichever of them succeeds.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { readConfig } from '../../server/config/config.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { removeEntry } from '../../server/resources/delete.ts'
import { roleBindings } from '../../server/resources/iam/role-bindings/table.ts'
import { openStore, prepareStore, talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import { loadMigrations } from '../../server/store/migrations.ts'
import { sql } from '../../server/store/sql.ts'
import type { CallResult, Door } from '../../server/testing/doors.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore, temporaryStore } from '../../server/testing/stores.ts'

const { getGroup, createGroup, updateGroup, deleteGroup } = GroupsService.method
const ok = 0
const notFound = 5
const permissionDenied = 7
const failedPrecondition = 9
const rounds = 10

onEachStore('concurrent calls', (engine) => {
  let platform: Platform
  let door: Door
  before(async () => {
    platform = await startPlatform(engine)
    door = restDoor(platform.url)
  })
  after(() => platform.stop())

  const codeOf = ({ error }: CallResult) => error?.code ?? ok
  const make = (parent: string, name: string, token = platform.owner.token) =>
    door.call(createGroup, { parent, group: { name } }, token)
  const remove = (uid: string) => door.call(deleteGroup, { uid }, platform.owner.token)
  const read = (uid: string) => door.call(getGroup, { uid }, platform.owner.token)

  async function makeTeam(): Promise<string> {
    const { body } = await make(platform.owner.organization, 'team')
    return body?.uid as string
  }

  async function assertConsistent(): Promise<void> {
    const orphans = await platform.store.query(
      sql`select uid from groups where parent is not null and parent not in (select uid from groups)`,
    )
    assert.deepEqual(orphans, [])
    assert.deepEqual(await checkTally(platform.store, talliedKinds, false), [])
  }

  test('copies that start at the same time on an empty store share the same keys', async () => {
    const place = await temporaryStore(engine)
    const { config } = readConfig({}, place.settings)
    const stores = Array.from({ length: 3 }, () => openStore(config))
    try {
      const prepared = await Promise.all(stores.map((store) => prepareStore(config, store)))
      assert.equal(prepared.flatMap(({ applied }) => applied).length, loadMigrations().length)
      assert.equal(new Set(prepared.map(({ keys }) => keys.signing().kid)).size, 1)
    } finally {
      await Promise.all(stores.map((store) => store.close()))
      await place.remove()
    }
  })

  test('a group is either deleted or gets children, never both', async () => {
    for (let round = 0; round < rounds; round++) {
      const team = await makeTeam()
      // In every second round, one more delete is sent before the creates.
      const early = round % 2 === 0 ? [remove(team)] : []
      const creates = [1, 2, 3, 4].map((number) => make(team, `child-${number}`))
      const deletes = [...early, remove(team)]
      const createCodes = (await Promise.all(creates)).map(codeOf)
      const deleteCodes = (await Promise.all(deletes)).map(codeOf)
      const isGone = deleteCodes.includes(ok)
      assert.deepEqual([...new Set(createCodes)], [isGone ? notFound : ok])
      const failures = deletes.map(() => (isGone ? notFound : failedPrecondition))
      assert.deepEqual(deleteCodes.sort(), isGone ? [ok, ...failures.slice(1)] : failures)
      assert.equal(codeOf(await read(team)), isGone ? notFound : ok)
    }
    await assertConsistent()
  })

  test('concurrent creates and deletes in a branch keep the tree consistent', async () => {
    for (let round = 0; round < rounds / 2; round++) {
      const team = await makeTeam()
      const leaf = (await make(team, 'leaf')).body?.uid as string
      const answers = await Promise.all([
        ...[remove(leaf), remove(team), make(leaf, 'deeper'), make(team, 'beside')],
        ...[remove(leaf), remove(team), make(leaf, 'deeper')],
      ])
      for (const answer of answers) assert.ok([ok, notFound, failedPrecondition].includes(codeOf(answer)))
    }
    await assertConsistent()
  })

  test('one of several concurrent deletes succeeds, and the others return 404', async () => {
    for (let round = 0; round < rounds; round++) {
      const team = await makeTeam()
      const codes = (await Promise.all([1, 2, 3].map(() => remove(team)))).map(codeOf)
      assert.deepEqual(codes.sort(), [ok, notFound, notFound])
    }
    await assertConsistent()
  })

  test('concurrent updates of different fields are all kept', async () => {
    const team = await makeTeam()
    for (let round = 0; round < rounds; round++) {
      const change = (fields: Record<string, string>, updateMask: string) =>
        door.call(updateGroup, { group: { uid: team, ...fields }, updateMask }, platform.owner.token)
      const answers = await Promise.all([
        change({ name: `name-${round}` }, 'name'),
        change({ description: `description ${round}` }, 'description'),
      ])
      assert.deepEqual(answers.map(codeOf), [ok, ok])
      const { body } = await read(team)
      assert.equal(body?.name, `name-${round}`)
      assert.equal(body?.description, `description ${round}`)
    }
  })

  test('no write is accepted after the caller’s role was revoked', async () => {
    for (let round = 0; round < 3; round++) {
      const team = await makeTeam()
      const member = await platform.addIdentity(team, 'owner')
      let isRevoked = false
      let createdCount = 0
      const writers = Array.from({ length: 6 }, async () => {
        const codes: number[] = []
        for (;;) {
          const isTooLate = isRevoked
          const code = codeOf(await make(team, 'work', member.token))
          if (isTooLate) assert.equal(code, permissionDenied)
          codes.push(code)
          if (code !== ok) return codes
          createdCount++
        }
      })
      let isEnded = false
      void Promise.allSettled(writers).then(() => {
        isEnded = true
      })
      while (createdCount < 10 && !isEnded) await nextTurn()
      const acceptedCount = await revokeRoles(member.identity, team)
      isRevoked = true
      const codes = (await Promise.all(writers)).flat()
      assert.deepEqual([...new Set(codes)].sort(), [ok, permissionDenied])
      assert.equal(codes.filter((code) => code === ok).length, acceptedCount)
      const [row] = await platform.store.query(sql`select count(*) from groups where parent = ${team}`)
      assert.equal(row?.[0], acceptedCount, 'a group was created after the role was revoked')
    }
    await assertConsistent()
  })

  /** Revokes the roles of an identity and returns the number of groups in the team at that time. */
  function revokeRoles(identity: string, team: string): Promise<number> {
    return platform.store.write(function* () {
      const bindings = yield sql`select uid from role_bindings where identity = ${identity}`
      for (const [uid] of bindings) yield* removeEntry(operatorAccess, roleBindings, uid as string)
      const [row] = yield sql`select count(*) from groups where parent = ${team}`
      return row?.[0] as number
    })
  }
})
