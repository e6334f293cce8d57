// `stemmad audit verify` and `stemmad check` find rows that somebody has changed in the store.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { Sql } from '../../server/store/sql.ts'
import { sql } from '../../server/store/sql.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { sealAll } from '../../server/testing/sealed-events.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { runStemmadInline } from '../server/stemmad.ts'

const { createGroup } = GroupsService.method
const { createSubscription } = SubscriptionsService.method

onEachStore('a store whose rows were changed', (engine) => {
  let platform: Platform
  let root: string
  before(async () => {
    platform = await startPlatform(engine, [], { deliversInBackground: false })
    root = platform.owner.organization
    for (const name of ['a', 'b', 'c']) await create(createGroup, { parent: root, group: { name } })
    const subscription = { sink: 'https://sink.example.com' }
    await create(createSubscription, { parent: root, subscription })
    // The first test removes the end of the log. `stemmad check` would also report a queue whose
    // position is after the new end.
    await execute(sql`update delivery_queues set position = 0`)
    await sealAll(platform.store)
  })
  after(() => platform.stop())

  async function create(...[method, request]: Parameters<ReturnType<typeof restDoor>['call']>) {
    const { error } = await restDoor(platform.url).call(method, request, platform.owner.token)
    assert.equal(error, undefined)
  }
  function stemmad(...args: string[]) {
    const { databaseUrl, dataDir, secretKey } = platform.config
    const key = secretKey ?? readFileSync(join(dataDir, 'secret.key'), 'utf8').trim()
    const store = databaseUrl ? ['--database-url', databaseUrl] : []
    return runStemmadInline([...args, '--data-dir', dataDir, ...store, `--secret-key=${key}`])
  }
  const execute = (statement: Sql) =>
    platform.store.write(function* () {
      yield statement
    })

  /** Damages the log, and returns what the command prints about the organization. */
  async function verdictAfter(...statements: Sql[]): Promise<string | undefined> {
    for (const statement of statements) await execute(statement)
    const { code, stdout } = await stemmad('audit', 'verify')
    assert.equal(code, stdout.includes('all are as they were recorded') ? 0 : 1, stdout)
    const checked = await stemmad('check')
    assert.equal(checked.code, code)
    const line = stdout.split('\n').find((text) => text.includes(root))
    if (line !== undefined) assert.ok(checked.stdout.includes(line), checked.stdout)
    return line
  }

  test('is noticed by stemmad audit verify, which names the first wrong entry', async () => {
    assert.equal(await verdictAfter(), undefined)
    const at = (sequence: number) => sql`root = ${root} and sequence = ${sequence}`
    const changed = `entry 5 of ${root} was changed, or an entry before it was replaced`
    const [row] = await platform.store.query(sql`select actor from events where ${at(5)}`)
    assert.equal(await verdictAfter(sql`update events set actor = 'nobody' where ${at(5)}`), changed)
    const restore = sql`update events set actor = ${row?.[0] as string} where ${at(5)}`
    assert.equal(await verdictAfter(restore), undefined)
    const wrongHash = sql`update events set hash = ${'0'.repeat(64)} where ${at(5)}`
    assert.equal(await verdictAfter(wrongHash), changed)
    const missing = `entry 5 of ${root} is missing`
    assert.equal(await verdictAfter(sql`delete from events where ${at(5)}`), missing)
    const cut = await verdictAfter(sql`delete from events where root = ${root} and sequence >= 5`)
    assert.equal(cut, `entry 5 of ${root} and all later ones are missing`)
    const [head] = await platform.store.query(sql`select hash from events where ${at(4)}`)
    const forged = sql`update event_chains set sequence = 3, hash = ${head?.[0] as string} where root = ${root}`
    assert.equal(await verdictAfter(forged), `entry 4 of ${root} was added, and is not part of the chain`)
    const { code, stdout, stderr } = await stemmad('audit', 'verify', '--heads')
    assert.equal(code, 1)
    assert.match(stdout, /^(\S+ \d+ [0-9a-f]{64}\n)+$/, 'a file for --compare')
    assert.match(stderr, /entry 4 of .* was added/)
    const mended = sql`update event_chains set sequence = 4 where root = ${root}`
    assert.equal(await verdictAfter(mended), undefined)
  })

  test('is found by a comparison with an earlier head, even if the end of the chain was set back', async () => {
    const { stdout: heads } = await stemmad('audit', 'verify', '--heads')
    assert.match(heads, /^(\S+ \d+ [0-9a-f]{64}\n)+$/)
    const file = join(mkdtempSync(join(tmpdir(), 'stemma-heads-')), 'heads.txt')
    writeFileSync(file, heads)
    const compare = async () => await stemmad('audit', 'verify', '--compare', file)
    assert.equal((await compare()).code, 0)
    const [last, before] = (await platform.store.query(
      sql`select sequence, hash from events where root = ${root} order by sequence desc limit 2`,
    )) as [[number, string], [number, string]]
    await execute(sql`delete from events where root = ${root} and sequence = ${last[0]}`)
    await execute(
      sql`update event_chains set sequence = ${before[0]}, hash = ${before[1]} where root = ${root}`,
    )
    assert.equal((await stemmad('audit', 'verify')).code, 0)
    const { code, stdout } = await compare()
    assert.equal(code, 1)
    assert.match(stdout, new RegExp(`^entry ${last[0]} of ${root} is missing or was replaced$`, 'm'))
    writeFileSync(file, 'nonsense\n')
    assert.match((await compare()).stderr, /is not the output of audit verify --heads: "nonsense"/)
    rmSync(dirname(file), { recursive: true })
  })

  test('has no head printed for a chain whose first entry is wrong, so that the heads of other chains can be compared', async () => {
    assert.equal((await stemmad('keys', 'rotate')).code, 0) // adds an entry to the log of the server
    await sealAll(platform.store)
    const at = sql`root = ${root} and sequence = 1`
    const [row] = await platform.store.query(sql`select actor from events where ${at}`)
    await execute(sql`update events set actor = 'nobody' where ${at}`)
    const { stdout, stderr } = await stemmad('audit', 'verify', '--heads')
    assert.match(stderr, new RegExp(`^entry 1 of ${root} was changed`, 'm'))
    assert.match(stdout, /^server \d+ [0-9a-f]{64}\n$/)
    await execute(sql`update events set actor = ${row?.[0] as string} where ${at}`)
  })

  test('has its role bindings and delivery queues corrected by stemmad check --repair', async () => {
    const damages = {
      'the role binding \\S+ does not expire at the time that the API shows': sql`update role_bindings set expire_time = 1`,
      'the subscription \\S+ has no queue': sql`delete from delivery_queues`,
      'the subscription \\S+ has a queue that does not fit its state': sql`update delivery_queues set is_active = 0`,
      'the subscription \\S+ waits for events after the end of the log': sql`update delivery_queues set position = 1000`,
    }
    for (const [text, damage] of Object.entries(damages)) {
      await execute(damage)
      const found = await stemmad('check')
      assert.equal(found.code, 1)
      assert.match(found.stdout, new RegExp(`^${text}.*\\n1 fault found; stemmad check --repair`, 'm'))
      const repaired = await stemmad('check', '--repair')
      assert.match(repaired.stdout, new RegExp(`^${text}.*\\n1 fault corrected\\.$`, 'm'))
      assert.equal(repaired.code, 0)
      const again = await stemmad('check')
      assert.equal(again.code, 0, again.stdout)
    }
  })

  test('has its other faults corrected by stemmad check --repair, but not those of the audit log', async () => {
    const actor = sql`(select actor from events where root = ${root} and sequence = 1)`
    const [row] = await platform.store.query(sql`select actor from ${actor} first_entry`)
    await execute(sql`update events set actor = 'nobody' where root = ${root} and sequence = 1`)
    await execute(sql`update delivery_queues set is_active = 0`)
    const queue = 'the subscription \\S+ has a queue that does not fit its state.*\\n'
    const entry = `entry 1 of ${root} was changed.*\\n`
    const audit = '1 fault of the audit log found, which stemmad check --repair cannot correct\\.$'
    const found = await stemmad('check')
    const advice = '1 fault found; stemmad check --repair corrects it\\.\\n'
    assert.match(found.stdout, new RegExp(`^${queue}${advice}${entry}${audit}`, 'm'))
    const repaired = await stemmad('check', '--repair')
    assert.match(repaired.stdout, new RegExp(`^${queue}1 fault corrected\\.\\n${entry}${audit}`, 'm'))
    assert.equal(repaired.code, 1)
    await execute(sql`update events set actor = ${row?.[0] as string} where root = ${root} and sequence = 1`)
  })
})
