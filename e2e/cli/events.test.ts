// `stemma events tail` against a real server.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'

onEachStore('stemma events tail', (engine) => {
  let platform: Platform
  let client: Client
  before(async () => {
    platform = await startPlatform(engine)
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
  test('goes on with new events', async () => {
    const running = client.startProcess('events tail acme --after 0 -o wide'.split(' '), '', env())
    await running.stdoutMatch(/"research"/)
    await succeed('groups create --parent acme --name later')
    await running.stdoutMatch(/group\.created\.v1 .*"later"/)
    running.stop()
    await running.ended
  })

  test('prints the events that exist, one per line', async () => {
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
})
