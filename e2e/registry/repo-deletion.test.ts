// Repos with much content are deleted in many short transactions.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { releaseBatch } from '../../server/resources/registry/release-content.ts'
import type { Sql } from '../../server/store/sql.ts'
import { sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { digest, insertManifests, insertReferences, numbers } from './inserted-manifests.ts'
import { ociClient } from './oci-client.ts'

onEachStore('the deletion of a repo', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine)
  })
  after(() => platform.stop())

  /** How many manifests each transaction deletes. */
  async function batchesOf(name: string, insert: (repo: string) => Sql[]): Promise<number[]> {
    const { store } = platform
    await ociClient(platform.url, platform.owner.token).pushBlob(`acme/${name}`, 'layer')
    const [row] = await store.query(sql`select uid from repos where name = ${name}`)
    const repo = row?.[0] as string
    await store.write(function* () {
      for (const statement of insert(repo)) yield statement
    })
    const left = async () =>
      (await store.query(sql`select count(*) from manifests where repo = ${repo}`))[0]?.[0] as number
    const batches: number[] = []
    for (let count = await left(); count > 0; ) {
      await store.write(() => releaseBatch(operatorAccess, repo, 0))
      const rest = await left()
      batches.push(count - rest)
      count = rest
    }
    return batches
  }

  test('is limited in each transaction by references, bytes and number of manifests', async () => {
    const manifests = (firstDigit: string, length: number) =>
      numbers(length).map((at): [string, null] => [digest(firstDigit, at), null])
    const many = await batchesOf('many', (repo) => [insertManifests(repo, manifests('a', 250))])
    assert.deepEqual(many, [100, 100, 50])
    const fat = await batchesOf('fat', (repo) => [
      insertManifests(repo, manifests('a', 5), 3 * 2 ** 20),
      insertManifests(repo, manifests('b', 2), 9 * 2 ** 20),
    ])
    assert.deepEqual(fat, [2, 2, 1, 1, 1])
    const referring = await batchesOf('referring', (repo) => [
      insertManifests(repo, manifests('a', 9)),
      insertManifests(repo, manifests('b', 2)),
      ...numbers(9).map((at) =>
        insertReferences(
          repo,
          numbers(at < 7 ? 600 : 2001).map((part) => [digest('a', at), digest('c', part)]),
        ),
      ),
    ])
    assert.deepEqual(referring, [3, 3, 1, 1, 1, 2])
  })
})
