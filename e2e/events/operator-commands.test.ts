// Every command of the operator that changes or copies something leaves an entry in the audit log,
// which names the command.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { serverLog } from '../../server/store/events/event-row.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { sealedEvents } from '../../server/testing/sealed-events.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { remove, runStemmadInline, temporaryFolder } from '../server/stemmad.ts'

onEachStore('commands of the operator', (engine) => {
  let platform: Platform
  let folder: string
  before(async () => {
    platform = await startPlatform(engine)
    folder = await temporaryFolder()
  })
  after(async () => {
    await platform.stop()
    await remove(folder)
  })

  async function stemmad(args: string[], input?: string): Promise<string> {
    const { databaseUrl, dataDir, secretKey } = platform.config
    const key = secretKey ?? readFileSync(join(dataDir, 'secret.key'), 'utf8').trim()
    const store = databaseUrl ? ['--database-url', databaseUrl] : []
    const { code, stdout, stderr } = await runStemmadInline(
      [...args, '--data-dir', dataDir, ...store, `--secret-key=${key}`],
      input,
    )
    assert.equal(code, 0, stderr)
    return stdout
  }

  const positions = new Map<string, number>()
  /** New entries in the log of an organization, a person or the server, since it was last read. */
  async function entriesIn(root: string): Promise<string[]> {
    const events = await sealedEvents(platform.store, root, positions.get(root))
    const last = events.at(-1)
    if (last) positions.set(root, last.sequence)
    for (const { method, actor, origin } of events)
      if (method.startsWith('stemmad ')) assert.deepEqual([actor, origin], ['', '{"door":"operator"}'])
    return events.map(({ method, kind, action }) => `${method}: ${kind} ${action}`)
  }

  test('are in the log of the organization or person that they concern', async () => {
    const { organization, identity } = platform.owner
    const made = JSON.parse(await stemmad(['bootstrap', '--org', 'example.com', '--json'])) as {
      organization: { uid: string }
    }
    const { uid } = made.organization
    assert.deepEqual(await entriesIn(uid), [
      'stemmad bootstrap: groups created',
      'stemmad bootstrap: identities created',
      'stemmad bootstrap: role_bindings created',
      'stemmad bootstrap: identities issued',
    ])
    await stemmad(['verify', uid, 'example.com'])
    await stemmad(['limits', 'set', uid, 'repos=3'])
    await stemmad(['limits', 'get', uid])
    assert.deepEqual(await entriesIn(uid), [
      'stemmad verify: groups updated',
      'stemmad limits set: groups updated',
    ])
    await entriesIn(organization)
    await stemmad(['token', identity])
    assert.deepEqual(await entriesIn(organization), ['stemmad token: identities issued'])
    const file = join(folder, 'advisory.json')
    const affected = [{ package: { ecosystem: 'npm', name: 'left-pad' }, versions: ['1.0.0'] }]
    const record = { id: 'X-1', modified: '2026-01-01T00:00:00Z', affected }
    await writeFile(file, JSON.stringify(record))
    await stemmad(['import', 'advisories', '--group', organization, file])
    const imported = await entriesIn(organization)
    assert.ok(imported.includes('stemmad import advisories: advisories created'), imported.join())

    const added = await stemmad(['users', 'add', 'ada@example.com'])
    const [, person = ''] = / is ([0-9a-f]{40})\n/.exec(added) ?? []
    assert.deepEqual(await entriesIn(person), [
      'stemmad users add: identities created',
      'stemmad users add: accounts password-reset',
    ])
    const password = ['--password-file', '-']
    await stemmad(['users', 'reset', 'ada@example.com', ...password], 'a long passphrase of ada')
    for (const action of ['sign-out', 'disable', 'enable']) await stemmad(['users', action, person])
    for (const action of ['add', 'remove']) await stemmad(['operators', action, person])
    assert.deepEqual(await entriesIn(person), [
      'stemmad users reset: accounts password-reset',
      'stemmad users sign-out: accounts signed-out',
      'stemmad users disable: accounts disabled',
      'stemmad users enable: accounts enabled',
      'stemmad operators add: accounts operator-added',
      'stemmad operators remove: accounts operator-removed',
    ])
    const printed = await stemmad(['audit', 'list', person])
    const [first = '{}'] = printed.split('\n')
    const { method, origin } = JSON.parse(first)
    assert.deepEqual([method, origin], ['stemmad users add', { door: 'operator' }])
    assert.equal(printed.trim().split('\n').length, 8)
    assert.doesNotMatch(printed, /passphrase/)
  })

  test('are in the log of the server if they concern no organization', async () => {
    const versions = {
      package: 'node',
      versions: [{ version: '24', releaseDate: '2025-10-07', eolDate: '2030-01-01' }],
    }
    const file = join(folder, 'versions.json')
    await writeFile(file, JSON.stringify(versions))
    await stemmad(['gc'])
    await stemmad(['gc', '--dry-run'])
    await stemmad(['keys', 'rotate'])
    await stemmad(['backup', join(folder, 'backup')])
    await stemmad(['check', '--repair'])
    await stemmad(['check'])
    await stemmad(['import', 'versions', file])
    const lines = (await stemmad(['audit', 'list'])).trim().split('\n')
    assert.equal(lines.length, 5)
    assert.deepEqual(await entriesIn(serverLog), [
      'stemmad gc: content collected',
      'stemmad keys rotate: keys rotated',
      'stemmad backup: store read',
      'stemmad check --repair: store repaired',
      'stemmad import versions: packages created',
    ])
    assert.match(await stemmad(['audit', 'verify', '--heads']), /^server 5 [0-9a-f]{64}$/m)
  })
})
