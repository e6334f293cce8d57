// `stemma audit` against a real server, run in this process.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'

onEachStore('stemma audit', (engine) => {
  let platform: Platform
  let client: Client
  before(async () => {
    platform = await startPlatform(engine)
    client = await openClient('inline')
    await succeed('groups create --parent acme --name platform --description small')
    await succeed('groups update acme/platform --description large')
    await succeed('repos create --parent acme/platform --name app')
    await succeed('repos delete acme/platform/app --yes')
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

  /** Entries without their times. */
  const entriesOf = (text: string) => text.replace(/^20\S+Z {2}/gm, '')

  test('list prints entries, the newest first, with their fields before and after', async () => {
    const text = await succeed('audit list acme --resource acme/platform')
    assert.equal(
      entriesOf(text),
      [
        'updated group "platform"  by owner',
        '    ~ description: "small" → "large"',
        'created group "platform"  by owner',
        '    + name: "platform"',
        '    + description: "small"',
        '',
      ].join('\n'),
    )
    const deleted = await succeed('audit list acme/platform --action deleted')
    assert.match(entriesOf(deleted), /^deleted repo "app" {2}by owner\n {4}- name: "app"\n/)
    const wide = await succeed('audit list --resource acme/platform --oldest --count 1 -o wide')
    assert.match(wide, /^ {4}method: platform\.iam\.v2beta1\.GroupsService\.CreateGroup$/m)
    assert.match(wide, /^ {4}user agent: stemma\/\d/m)
  })

  test('list filters by actor, kind, method, outcome and time, and reports how many there are', async () => {
    const countOf = async (filters: string) =>
      (await succeed(`audit list ${filters} -o uid`)).split('\n').length - 1
    assert.equal(await countOf('acme/platform --kind repos'), 2)
    assert.equal(await countOf(`--actor ${platform.owner.identity} --kind groups`), 2)
    assert.equal(await countOf('acme --method GroupsService.UpdateGroup'), 1)
    assert.equal(await countOf('acme --kind groups --outcome failure'), 0)
    assert.equal(await countOf('acme --until 2020-01-31'), 0)
    assert.equal(await countOf('acme/platform --since 24h --all'), 4)
    const part = await run('audit list acme/platform --count 1')
    assert.match(part.stderr, /^1 of 4; --all lists all/)
    const none = await run('audit list acme --until 2020-01-31')
    assert.deepEqual([none.stdout, none.stderr], ['', 'No entries.\n'])
  })

  test('list finds writes of v1 by the short name of the method', async () => {
    const { organization, token } = platform.owner
    const group = { name: 'research' }
    const made = await restDoor(platform.url).call(
      Groups.method.create,
      { parent: organization, group },
      token,
    )
    assert.equal(made.error, undefined)
    const wide = await succeed('audit list acme --method Groups.Create -o wide')
    assert.match(entriesOf(wide), /^created group "research"/)
    assert.match(wide, /^ {4}method: platform\.iam\.Groups\.Create$/m)
  })

  test('wrong filters and arguments are refused', async () => {
    const lines: [line: string, code: number, message: RegExp][] = [
      ['list acme --outcome maybe', 2, /--outcome must be success or failure, not "maybe"/],
      ['list acme --since soon', 2, /--since: must be a time such as /],
      ['list acme --count 0', 2, /--count must be a whole number from 1 to 9999999/],
      ['list acme --actor nobody', 5, /--actor: there is no identity "nobody"/],
      ['list acme --method Create', 2, /--method: "Create" matches several methods.*\n {2}platform\./],
      ['export acme --format csv', 2, /--format must be json or ecs/],
      [
        'export acme -o yaml',
        2,
        /audit export prints one JSON document per line; --output yaml is not supported/,
      ],
      ['list acme platform', 2, /accepts only GROUP; remove "platform"/],
    ]
    for (const [line, code, message] of lines) {
      const ended = await run(`audit ${line}`)
      assert.deepEqual([ended.code, ended.stdout], [code, ''], line)
      assert.match(ended.stderr, message)
    }
  })

  test('export prints one entry per line, the oldest first, also in the Elastic Common Schema', async () => {
    const linesOf = async (line: string) =>
      (await succeed(line))
        .split('\n')
        .slice(0, -1)
        .map((text) => JSON.parse(text))
    const entries = await linesOf('audit export acme/platform')
    assert.deepEqual(
      entries.map(({ action }) => action),
      ['created', 'updated', 'created', 'deleted'],
    )
    const [first] = await linesOf('audit export acme/platform --kind groups --format ecs')
    assert.equal(first['@timestamp'], entries[0]?.time)
  })

  test('tail prints the entries since a time and goes on with new ones', async () => {
    const running = client.startProcess('audit tail acme/platform --since 1h -o json'.split(' '), '', env())
    const { input } = await running.stdoutMatch(/"deleted"[^\n]*\n/)
    assert.equal(input.split('\n').length, 5)
    await succeed('groups update acme/platform --description huge')
    await running.stdoutMatch(/"huge"/)
    running.stop()
    const ended = await running.ended
    const actions = ended.stdout
      .split('\n')
      .slice(0, -1)
      .map((text) => JSON.parse(text).action)
    assert.deepEqual(actions, ['created', 'updated', 'created', 'deleted', 'updated'])
  })

  test('tail prints only entries that are new, also if the clock of this machine is ahead', async () => {
    const aheadMs = 120_000
    const clock = `const { now } = Date; Date.now = () => now() + ${aheadMs}`
    const line = 'audit tail acme/platform -o json --debug'
    const running = client.startProcess(line.split(' '), '', {
      ...env(),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(clock)}`,
    })
    // Three calls: the first finds the newest entry, the second reads the entries that already exist
    // and are not printed, and the third is the first one whose entries are printed.
    await running.stderrMatch(/(audit\S*: 200\n[\s\S]*?){3}/)
    await succeed('groups update acme/platform --description ahead')
    await running.stdoutMatch(/"ahead"/)
    running.stop()
    const { stdout } = await running.ended
    assert.equal(stdout.split('\n').length, 2)
  })
})
