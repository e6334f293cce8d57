// Kills the server and a garbage collection repeatedly, while clients push, mount and delete the same few blobs.
// Every acknowledged manifest must be complete afterwards, and a collection must free everything else.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readConfig } from '../../server/config/config.ts'
import { contentStorage } from '../../server/content-storage.ts'
import { collectionAccess } from '../../server/policy/system-access.ts'
import { collectGarbage } from '../../server/resources/registry/collection/collect.ts'
import { openStore } from '../../server/storage.ts'
import { raw, sql } from '../../server/store/sql.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { preparedStore } from '../../server/testing/templates.ts'
import { spawnNode, spawnServer, untilPrinted } from '../server/server-process.ts'
import { runStemmadInline } from '../server/stemmad.ts'
import type { OciClient } from './oci-client.ts'
import { descriptor, digestOf, ociClient, types } from './oci-client.ts'
import { ageContent, dayMs, storedDigests } from './stored-content.ts'

/** A long run by hand: STEMMA_TEST_CRASH_ROUNDS=40 npm test -- e2e/registry/oci-crash.test.ts */
const rounds = Number(process.env.STEMMA_TEST_CRASH_ROUNDS ?? 2)
const writers = 5
/** Few, so that each is deleted and pushed again all the time. */
const layers = Array.from({ length: 12 }, (_, at) => `layer ${at} ${'x'.repeat(at * 700)}`)
const collector = fileURLToPath(new URL('../../server/testing/collect-forever.ts', import.meta.url))

/** The acknowledged manifests of a writer, by digest. */
type Ledger = { repo: string; manifests: Map<string, string> }
type Counts = Record<'pushed' | 'mounted' | 'deleted' | 'refused', number>

onEachStore('a registry that is killed', (engine) => {
  let settings: string[]
  let remove: () => Promise<void>
  let token: string
  before(async () => {
    const place = await preparedStore(engine)
    remove = place.remove
    settings = [...place.settings, '--port', '0', '--base-url', 'http://stemma.test', '--log-level', 'silent']
    const { stdout } = await runStemmadInline(['bootstrap', '--org', 'acme', '--json', ...settings])
    token = JSON.parse(stdout).token
  })
  after(() => remove())

  test('keeps every acknowledged manifest with its blobs, and frees everything else', async (context) => {
    const counts: Counts = { pushed: 0, mounted: 0, deleted: 0, refused: 0 }
    const ledgers = Array.from(
      { length: writers },
      (_, at): Ledger => ({ repo: `acme/w${at}`, manifests: new Map() }),
    )
    for (let round = 0; round < rounds; round++) {
      const { server, url } = await spawnServer([...settings, '--rate-write', '0', '--rate-read', '0'])
      context.after(() => server.kill('SIGKILL'))
      const client = ociClient(url, token)
      for (const ledger of ledgers) await assertComplete(client, ledger)
      const collecting = spawnNode([collector, ...settings])
      context.after(() => collecting.kill('SIGKILL'))
      const exited = [server, collecting].map((child) => once(child, 'exit'))
      await untilPrinted(collecting, /collecting/)
      const [minPushed, minDeleted] = [counts.pushed + 6 + Math.random() * 10, counts.deleted + 3]
      let isEnded = false
      const writing = Promise.all(
        ledgers.map((ledger) => writeUntilKilled(client, ledger, ledgers, counts, () => server.killed)),
      )
      // A writer that fails ends the wait below.
      writing
        .catch(() => {})
        .finally(() => {
          isEnded = true
        })
      while (!isEnded && (counts.pushed < minPushed || counts.deleted < minDeleted))
        await pause(Math.random() * 10)
      for (const child of Math.random() < 0.5 ? [server, collecting] : [collecting, server]) {
        child.kill('SIGKILL')
        await pause(Math.random() * 20)
      }
      await writing
      for (const [, signal] of await Promise.all(exited))
        assert.equal(signal, 'SIGKILL', 'a process has crashed')
    }
    context.diagnostic(`${rounds} rounds: ${JSON.stringify(counts)}`)
    await assertFreed(ledgers)
  })

  /** Collects garbage, and asserts that exactly the blobs of the manifests are left. */
  async function assertFreed(ledgers: readonly Ledger[]): Promise<void> {
    const { config } = readConfig({}, settings)
    const [store, content] = [openStore(config), contentStorage(config)]
    try {
      await store.write(function* () {
        // PostgreSQL may still be committing for the processes that were killed. The lock waits for that.
        yield raw('/*pg lock table uploads, blobs, manifests in share mode -- */ select 1')
      })
      const storage = await content.open()
      await ageContent(store, storage, join(config.dataDir, 'content'))
      const deps = { access: collectionAccess, store, storage, now: Date.now, graceMs: dayMs }
      await collectGarbage({ ...deps, pause: async () => {} }, { withUnknownBlobs: true })
      const used = await store.query(
        sql`select distinct digest from manifest_references where kind = 'blob' order by digest`,
      )
      assert.deepEqual(
        await storedDigests(storage),
        used.map(([digest]) => digest),
      )
      assert.deepEqual(await Array.fromAsync(storage.abandoned(Number.POSITIVE_INFINITY)), [])
      const rows = await store.query(sql`select (select count(*) from blobs), (select count(*) from uploads)`)
      assert.deepEqual(rows, [[used.length, 0]])
      const stored = await store.query(sql`select r.name, m.digest, m.content from manifests m
        join repos r on r.uid = m.repo`)
      const contents = new Map(
        stored.map(([name, digest, bytes]) => [
          `acme/${name} ${digest}`,
          String(Buffer.from(bytes as Uint8Array)),
        ]),
      )
      for (const { repo, manifests } of ledgers)
        for (const [digest, text] of manifests) assert.equal(contents.get(`${repo} ${digest}`), text)
    } finally {
      await content.close()
      await store.close()
    }
    const checked = await runStemmadInline(['check', '--digests', ...settings])
    assert.match(checked.stdout, /none is missing, and all have the right content/)
  }
})

async function assertComplete(client: OciClient, { repo, manifests }: Ledger): Promise<void> {
  for (const [digest, content] of manifests) {
    const manifest = await client.expect(200, 'GET', `/v2/${repo}/manifests/${digest}`)
    assert.equal(await manifest.text(), content)
    const { config, layers: parts } = JSON.parse(content)
    for (const part of [config, ...parts]) {
      const blob = await client.expect(200, 'GET', `/v2/${repo}/blobs/${part.digest}`)
      assert.equal(digestOf(new Uint8Array(await blob.arrayBuffer())), part.digest)
    }
  }
}

/** Pushes and deletes images of random layers until the server is killed. A push that is refused is given up. */
async function writeUntilKilled(
  client: OciClient,
  { repo, manifests }: Ledger,
  others: readonly Ledger[],
  counts: Counts,
  isKilled: () => boolean,
): Promise<void> {
  const any = <T>(items: readonly T[]) => items[Math.floor(Math.random() * items.length)] as T // never empty
  const killed = Symbol()
  // A server that is killed answers nothing.
  const send = async (...request: Parameters<OciClient['send']>) => {
    try {
      const response = await client.send(...request)
      await response.arrayBuffer()
      return { status: response.status, location: response.headers.get('location') ?? '' }
    } catch (error) {
      throw isKilled() ? killed : error
    }
  }

  /** Returns whether the repo has the blob now. A blob that a collection is deleting is refused. */
  async function pushBlob(content: string): Promise<boolean> {
    const digest = digestOf(content)
    if ((await send('HEAD', `/v2/${repo}/blobs/${digest}`)).status === 200) return true
    const uploads = `/v2/${repo}/blobs/uploads/`
    let finish: ['POST' | 'PUT', string] = ['POST', `${uploads}?digest=${digest}`]
    if (Math.random() < 0.5) {
      const mount = await send('POST', `${uploads}?mount=${digest}&from=${any(others).repo}`)
      if (mount.status === 201) {
        counts.mounted++
        return true
      }
      finish = ['PUT', `${mount.location}?digest=${digest}`]
    }
    const { status } = await send(...finish, { body: content })
    assert.ok([201, 503].includes(status), `the push of a blob was answered with ${status}`)
    return status === 201
  }

  async function push(): Promise<void> {
    const parts = new Set(Array.from({ length: 3 }, () => any(layers)))
    const content = JSON.stringify({
      ...{ schemaVersion: 2, mediaType: types.manifest, config: descriptor('{}', types.config) },
      layers: [...parts].map((part) => descriptor(part)),
    })
    const manifest = { body: content, headers: { 'content-type': types.manifest } }
    for (const part of ['{}', ...parts])
      if (!(await pushBlob(part))) {
        counts.refused++
        return
      }
    const reference = any(['latest', digestOf(content)])
    const { status } = await send('PUT', `/v2/${repo}/manifests/${reference}`, manifest)
    assert.ok([201, 404].includes(status), `the push of a manifest was answered with ${status}`)
    // The collection has taken a blob away, because its grace period is short.
    if (status === 404) {
      counts.refused++
      return
    }
    manifests.set(digestOf(content), content)
    counts.pushed++
  }

  async function remove(): Promise<void> {
    const digest = any([...manifests.keys()])
    manifests.delete(digest)
    assert.equal((await send('DELETE', `/v2/${repo}/manifests/${digest}`)).status, 202)
    counts.deleted++
  }

  try {
    for (;;) await (manifests.size > 3 || (manifests.size > 0 && Math.random() < 0.4) ? remove() : push())
  } catch (error) {
    if (error !== killed) throw error
  }
}
