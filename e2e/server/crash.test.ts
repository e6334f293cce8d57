// Kills the real server repeatedly under load and checks that every acknowledged write is still there.
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { readConfig } from '../../server/config/config.ts'
import { openStore, talliedKinds } from '../../server/storage.ts'
import { checkTally } from '../../server/store/check.ts'
import { raw, sql } from '../../server/store/sql.ts'
import { all } from '../../server/store/work.ts'
import type { Door } from '../../server/testing/doors.ts'
import { restDoor } from '../../server/testing/doors.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { preparedStore } from '../../server/testing/templates.ts'
import { spawnServer } from './server-process.ts'
import { runStemmadInline } from './stemmad.ts'

const { createGroup, updateGroup, deleteGroup } = GroupsService.method
const rounds = 2
const writers = 24

type Owner = { organization: { uid: string }; token: string }

/** The groups of one writer, as the responses of the server describe them, and its request that has no response yet. */
type Ledger = {
  /** The names of the groups, by uid. */
  names: Map<string, string>
  pending: { action: 'create' | 'update' | 'delete'; uid?: string; name: string } | undefined
}

onEachStore('a server that is killed', (engine) => {
  let settings: string[]
  let remove: () => Promise<void>
  let owner: Owner
  before(async () => {
    const place = await preparedStore(engine)
    remove = place.remove
    settings = [...place.settings, '--port', '0', '--base-url', 'http://stemma.test', '--log-level', 'silent']
    const { stdout } = await runStemmadInline(['bootstrap', '--org', 'acme', '--json', ...settings])
    owner = JSON.parse(stdout)
  })
  after(() => remove())

  async function start(): Promise<{ server: ChildProcess; door: Door }> {
    const { server, url } = await spawnServer(settings)
    return { server, door: restDoor(url) }
  }

  test('keeps every acknowledged write', async (context) => {
    const ledgers = Array.from({ length: writers }, (): Ledger => ({ names: new Map(), pending: undefined }))
    for (let round = 0; round < rounds; round++) {
      const { server, door } = await start()
      context.after(() => server.kill('SIGKILL'))
      // Half of the writers repeat their pending create. For the others, `compareWithStore` finds out
      // whether it was carried out.
      const repeating = ledgers.filter((_, at) => at % 2 === 0)
      await repeatCreates(door, owner, repeating)
      await compareWithStore(ledgers)
      let answerCount = 0
      const answersBeforeKill = writers + Math.random() * 150
      const writing = ledgers.map((ledger, at) =>
        writeUntilKilled(door, owner, ledger, `${round}-${at}`, () => {
          answerCount++
        }),
      )
      // A writer that fails ends the wait below, and `Promise.all` at the end throws its error.
      const writersEnded = Promise.all(writing).finally(() => {
        answerCount = Number.POSITIVE_INFINITY
      })
      writersEnded.catch(() => {})
      while (answerCount < answersBeforeKill) await pause(Math.random() * 10)
      const exited = once(server, 'exit')
      server.kill('SIGKILL')
      await Promise.all([exited, writersEnded])
      if (engine === 'sqlite') assertIntact()
    }
    const checked = await runStemmadInline(['check', ...settings])
    assert.deepEqual(checked, { code: 0, stdout: 'All totals are correct.\n', stderr: '' })
    await compareWithStore(ledgers)
  })

  function assertIntact(): void {
    const db = new DatabaseSync(join(settings[1] ?? '', 'stemma.db'))
    assert.deepEqual(db.prepare('pragma integrity_check').all().map(Object.values), [['ok']])
    assert.deepEqual(db.prepare('pragma foreign_key_check').all(), [])
    db.close()
  }

  /** Compares the store with the acknowledged writes, after finding out which pending requests were carried out. */
  async function compareWithStore(ledgers: readonly Ledger[]): Promise<void> {
    const store = openStore(readConfig({}, settings).config)
    try {
      const rows = await store.write(function* () {
        // PostgreSQL may still be committing for the server that was killed. The lock waits for that commit.
        yield raw('/*pg lock table groups in share mode -- */ select 1')
        return yield* all(sql`select uid, name from groups where parent = ${owner.organization.uid}`)
      })
      const stored = new Map(rows as [string, string][])
      for (const ledger of ledgers) settlePending(ledger, stored)
      const acknowledged = new Map(ledgers.flatMap(({ names }) => [...names]))
      assert.deepEqual(new Map([...stored].sort()), new Map([...acknowledged].sort()))
      assert.deepEqual(await checkTally(store, talliedKinds, false), [])
    } finally {
      await store.close()
    }
  }
})

/** A request without a response was carried out completely or not at all. */
function settlePending(ledger: Ledger, stored: ReadonlyMap<string, string>): void {
  const { pending, names } = ledger
  ledger.pending = undefined
  if (!pending) return
  const uid = pending.uid ?? [...stored].find(([, name]) => name === pending.name)?.[0]
  if (uid === undefined) return
  const name = stored.get(uid)
  if (pending.action === 'delete' && name === undefined) names.delete(uid)
  if (pending.action !== 'delete' && name === pending.name) names.set(uid, name)
}

/** Repeats the creates that have no response. Their idempotency keys ensure that each is carried out only once. */
async function repeatCreates(door: Door, owner: Owner, ledgers: readonly Ledger[]): Promise<void> {
  for (const ledger of ledgers) {
    const { pending } = ledger
    if (pending?.action !== 'create') continue
    const answer = await send(door, owner, pending)
    assert.equal(answer.error, undefined)
    ledger.names.set(String(answer.body?.uid), pending.name)
    ledger.pending = undefined
  }
}

/** Creates, renames and deletes groups until the server is killed. */
async function writeUntilKilled(
  door: Door,
  owner: Owner,
  ledger: Ledger,
  label: string,
  onAnswer: () => void,
): Promise<void> {
  for (let count = 0; ; count++) {
    // One of the three newest groups.
    const [uid] = [...ledger.names.keys()].slice(-1 - (count % 3))
    const action = count % 4 === 1 && uid ? 'update' : count % 4 === 3 && uid ? 'delete' : 'create'
    const name = `group-${label}-${count}`
    ledger.pending = action === 'create' ? { action, name } : { action, name, uid: uid ?? '' }
    const answer = await send(door, owner, ledger.pending).catch(() => undefined)
    if (!answer) return
    assert.equal(answer.error, undefined)
    ledger.pending = undefined
    if (action === 'delete') ledger.names.delete(uid ?? '')
    else ledger.names.set(String(answer.body?.uid), name)
    onAnswer()
  }
}

async function send(door: Door, { organization, token }: Owner, request: NonNullable<Ledger['pending']>) {
  const { action, uid = '', name } = request
  if (action === 'create') {
    const group = { parent: organization.uid, group: { name } }
    return (await door.send(createGroup, group, token, { 'idempotency-key': name })).result
  }
  if (action === 'delete') return door.call(deleteGroup, { uid }, token)
  return door.call(updateGroup, { group: { uid, name }, updateMask: 'name' }, token)
}
