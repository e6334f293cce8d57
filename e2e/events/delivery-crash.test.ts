// Kills a server with SIGKILL while it delivers events, alone on SQLite and beside another copy on PostgreSQL.
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { readConfig } from '../../server/config/config.ts'
import { openStore } from '../../server/storage.ts'
import { sql } from '../../server/store/sql.ts'
import { restDoor } from '../../server/testing/doors.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { preparedStore } from '../../server/testing/templates.ts'
import { spawnServer } from '../server/server-process.ts'
import { runStemmadInline } from '../server/stemmad.ts'
import type { Sink } from './sink.ts'
import { openSink } from './sink.ts'

const { createSubscription } = SubscriptionsService.method
const { createGroup } = GroupsService.method
const groupCount = 15
/** How many requests a sink gets at a time. */
const maxConcurrent = 4

onEachStore('a server that is killed while it delivers', (engine) => {
  let settings: string[]
  let remove: () => Promise<void>
  let owner: { organization: { uid: string }; token: string }
  const running: ChildProcess[] = []
  let sinks: Sink[] = []
  before(async () => {
    const place = await preparedStore(engine)
    remove = place.remove
    settings = [
      ...[...place.settings, '--port', '0', '--base-url', 'http://localhost:8080', '--log-level', 'silent'],
    ]
    const { stdout } = await runStemmadInline(['bootstrap', '--org', 'acme', '--json', ...settings])
    owner = JSON.parse(stdout)
    sinks = await Promise.all([openSink(), openSink(), openSink()])
  })
  after(async () => {
    for (const server of running) server.kill('SIGKILL')
    for (const sink of sinks) sink.close()
    await remove()
  })

  async function start() {
    const { server, url } = await spawnServer(settings)
    running.push(server)
    return { server, door: restDoor(url) }
  }

  /** Ends all leases. Those of the killed server would otherwise last up to a minute. */
  async function endLeases(): Promise<void> {
    const store = openStore(readConfig({}, settings).config)
    await store.write(function* () {
      yield sql`update delivery_queues set lease_until = 0`
    })
    await store.close()
  }

  test('loses no event, and repeats only those that were under way', async () => {
    const { server, door } = await start()
    const other = engine === 'postgres' ? await start() : undefined
    const parent = owner.organization.uid
    for (const { url } of sinks) {
      const subscription = { sink: url, eventTypes: ['dev.stemma.api.iam.group.created.'] }
      const { error } = await door.call(createSubscription, { parent, subscription }, owner.token)
      assert.equal(error, undefined)
    }
    const made = await Promise.all(
      Array.from({ length: groupCount }, async (_, at) => {
        const { body } = await door.call(createGroup, { parent, group: { name: `g${at}` } }, owner.token)
        return body?.uid as string
      }),
    )
    await Promise.all(sinks.map((sink) => sink.until(3)))
    server.kill('SIGKILL')
    await once(server, 'exit')
    await endLeases()
    if (!other) await start()

    for (const sink of sinks) {
      const subjects = () => sink.events.map(({ headers }) => headers['ce-subject'] as string)
      for (let count = 1; made.some((uid) => !subjects().includes(uid)); count = sink.events.length + 1)
        await sink.until(count)
      const repeated = subjects().length - new Set(subjects()).size
      assert.ok(repeated <= maxConcurrent, `${repeated} events arrived twice`)
      const ids = new Map(sink.events.map(({ headers }) => [headers['ce-subject'], headers['ce-id']]))
      for (const { headers } of sink.events) assert.equal(headers['ce-id'], ids.get(headers['ce-subject']))
    }
  })
})
