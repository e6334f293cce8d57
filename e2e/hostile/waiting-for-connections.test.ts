// On PostgreSQL, calls wait if all connections are in use. An organization with many waiting calls, or with expensive
// ones, does not delay another organization. A lock makes calls wait.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import pg from 'pg'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

const { getGroup } = GroupsService.method
const { listRepos } = ReposService.method
const floodSize = 40

type Owner = Platform['owner']

const waitingFor = (table: string) => `select 1 from pg_locks
  where not granted and relation = '${table}'::regclass and database =
    (select oid from pg_database where datname = current_database())`

onEachStore('while other calls wait for a connection', (engine) => {
  if (engine === 'sqlite') return
  let platform: Platform
  let doors: Door[]
  let other: Owner
  let database: pg.Client

  before(async () => {
    // One connection for the worker, and one for its lane, which gets every list with a filter of uids.
    platform = await startPlatform(engine, ['--database-connections', '2'], { maxListRows: 1 })
    database = new pg.Client({ connectionString: platform.config.databaseUrl })
    await database.connect()
    other = await platform.addOrganization('other')
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await database.end()
    await platform.stop()
  })

  const untilWaiting = async (table: string) => {
    while ((await database.query(waitingFor(table))).rowCount === 0) await pause(10)
  }

  /** The server has read all requests that were sent before, when it has answered these. */
  async function untilRead(door: Door): Promise<void> {
    for (let times = 0; times < 3; times++) await fetch(`${platform.url}/healthz`)
    // Fails, without using the store.
    for (let times = 0; times < 3; times++) await door.call(getGroup, { uid: 'none' }, 'not a token')
  }

  async function getOrganization(door: Door, { organization, token }: Owner): Promise<void> {
    const { error } = await door.call(getGroup, { uid: organization }, token)
    assert.equal(error, undefined)
  }

  test('the calls of organizations take turns, over REST and gRPC', async () => {
    for (const door of doors) {
      // From now on, the server knows whose tokens these are.
      for (const owner of [platform.owner, other]) await getOrganization(door, owner)
      await database.query('begin; lock table groups in access exclusive mode')
      const answered: string[] = []
      const call = async (name: string, owner: Owner) => {
        await getOrganization(door, owner)
        answered.push(name)
      }
      const flood = Array.from({ length: floodSize }, () => call('flood', platform.owner))
      await untilWaiting('groups')
      await untilRead(door)
      const late = call('late', other)
      await untilRead(door)
      await database.query('commit')
      await Promise.all([...flood, late])
      // In the order of their arrival it would be the last one.
      assert.ok(answered.indexOf('late') < floodSize / 2, `${door.name}: ${answered.indexOf('late')}`)
    }
  })

  test('a call is answered while expensive lists wait', async () => {
    for (const door of doors) {
      await database.query('begin; lock table repos in access exclusive mode')
      const lists = Array.from({ length: 10 }, () =>
        door.call(listRepos, { uidp: { ids: [platform.owner.identity] } }, platform.owner.token),
      )
      await untilWaiting('repos')
      await getOrganization(door, other)
      await database.query('commit')
      for (const list of lists) assert.equal((await list).error, undefined)
    }
  })
})
