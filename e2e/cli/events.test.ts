// `stemma events tail` and the commands for deliveries, against a real server.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Received } from '../events/sink.ts'
import { answerWith, openSink } from '../events/sink.ts'
import { until } from '../server/stemmad.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'

onEachStore('stemma', (engine) => {
  let platform: Platform
  let client: Client
  before(async () => {
    platform = await startPlatform(engine, ['--base-url', 'http://localhost:8080'])
    client = await openClient('inline')
    for (const name of ['platform', 'research']) await succeed(`groups create --parent acme --name ${name}`)
  })
  after(async () => {
    await platform.stop()
    await client.remove()
  })

  const env = () => ({ STEMMA_API: platform.url, STEMMA_TOKEN: platform.owner.token })
  const run = (line: string) => client.run(line.split(' '), '', env())

  async function succeed(line: string): Promise<string> {
    const { code, stdout, stderr } = await run(line)
    assert.equal(code, 0, `${line}: ${stderr}`)
    return stdout
  }

  // First, because it waits until the events are sealed; `--once` prints only sealed ones.
  test('events tail goes on with new events', async () => {
    const running = client.startProcess('events tail acme --after 0 -o wide'.split(' '), '', env())
    await running.stdoutMatch(/"research"/)
    await succeed('groups create --parent acme --name later')
    await running.stdoutMatch(/group\.created\.v1 .*"later"/)
    running.stop()
    await running.ended
  })

  test('events tail prints the events that exist, one per line', async () => {
    const { identity } = platform.owner
    const group = (await succeed('groups get acme/platform -o uid')).trim()
    assert.match(
      await succeed('events tail acme/platform --after 0 --once'),
      new RegExp(
        `^20\\S+Z {2}dev\\.stemma\\.api\\.iam\\.group\\.created\\.v1 {2}${group} {2}by ${identity}\\n$`,
      ),
    )
    const all = await succeed('events tail acme --after 0 --once --type dev.stemma.api.iam.group. -o json')
    const names = all
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).data.body.name)
    assert.deepEqual(names.slice(-3), ['platform', 'research', 'later'])
    assert.equal(await succeed('events tail acme --after 0 --once --type dev.stemma.registry.'), '')
    assert.match((await run('events tail acme --after now')).stderr, /--after must be a sequence number/)
  })

  test('subscriptions shows deliveries, sends events again, and rotates the secret', async () => {
    const sink = await openSink()
    try {
      const flags = `--parent acme --sink ${sink.url} --event-types dev.stemma.none.`
      const made = JSON.parse(await succeed(`subscriptions create ${flags} -o json`))
      const { uid, secret } = made as { uid: string; secret: string }
      sink.answer = answerWith(503, {}, 'maintenance until noon')
      const delivery = (await succeed(`subscriptions test ${uid} -o uid`)).trim()
      await sink.until(1)
      const rows = (extra = '') => succeed(`subscriptions deliveries ${uid} ${extra}`.trim())
      await until(async () => /subscription\.test\.v1 .*pending .*503/.test(await rows()))
      assert.match(await rows('--state pending -o wide'), /maintenance until noon/)
      assert.doesNotMatch(await rows('--state delivered'), /subscription\.test/)
      sink.answer = answerWith(204)
      await succeed(`subscriptions redeliver ${delivery}`)
      await sink.until(2)
      await until(async () => /subscription\.test\.v1 .*delivered .*204/.test(await rows()))
      const [first, second] = sink.events.map(({ headers }) => headers['webhook-id'])
      assert.equal(first, second)

      // Events that happened before are sent if the types are widened and a replay is asked for.
      await succeed(`subscriptions update ${uid} --event-types dev.stemma.api.iam.group.`)
      await succeed(`subscriptions replay ${uid} --since 1h`)
      await sink.until(4)
      const types = sink.events.slice(2).map(({ headers }) => headers['ce-type'])
      assert.deepEqual(new Set(types), new Set(['dev.stemma.api.iam.group.created.v1']))
      await until(async () => !(await rows()).includes('pending'))
      const oldest = JSON.parse(await rows('--order-by create_time --page-size 1 -o json'))
      assert.equal(oldest.deliveries?.[0]?.uid ?? oldest[0]?.uid, delivery)

      const refused = await run(`subscriptions rotate-secret ${uid} -o uid`)
      assert.match(refused.stderr, /rotate-secret has no uid; use another --output/)
      const rotated = JSON.parse(await succeed(`subscriptions rotate-secret ${uid} --overlap 1h -o json`))
      assert.match(rotated.secret, /^whsec_/)
      const count = sink.events.length
      await succeed(`subscriptions test ${uid}`)
      await sink.until(count + 1)
      const { headers, body } = sink.events.at(-1) as Received
      for (const key of [secret, rotated.secret])
        assert.ok(new Webhook(key).verify(body, headers as Record<string, string>))
    } finally {
      sink.close()
    }
  })
})
