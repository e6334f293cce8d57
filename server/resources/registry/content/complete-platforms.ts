// Adds missing platforms to manifests: those that were pushed before the server stored platforms,
// and those whose configuration could not be read when they were pushed.
import type { BlobStore } from '../../../blobs/blob-store.ts'
import { BoundedMap } from '../../../bounded-map.ts'
import type { Store } from '../../../store/db.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { platformsIn, refreshTags } from '../tag-content.ts'
import { readManifest } from './manifest.ts'
import { maxConfigBytes, platformsOfConfig, platformsOfIndex } from './platforms.ts'
import { readBlob } from './read-blob.ts'

const rowsAtATime = 100
const maxKnown = 10_000

/** Returns how many manifests got platforms. */
export async function completePlatforms(
  store: Store,
  storage: BlobStore,
  access: WriteAccess,
): Promise<number> {
  // Most of these manifests are signatures and other artifacts, which share the configuration `{}`.
  const known = new BoundedMap<string, string[]>(maxKnown)
  const ofImage = async (config: string) => {
    const platforms = known.get(config) ?? (await readPlatforms(storage, config))
    known.set(config, platforms)
    return platforms
  }
  let completed = 0
  for await (const { repo, digest, config } of manifestsWithoutPlatforms(store, 'config is not null'))
    completed += await complete(store, access, repo, digest, await ofImage(config))
  // Indexes come after images, because an index entry without a platform gets that of its image.
  for await (const { repo, digest } of manifestsWithoutPlatforms(store, 'config is null'))
    completed += await complete(store, access, repo, digest, await store.read(() => ofIndex(repo, digest)))
  return completed
}

async function readPlatforms(storage: BlobStore, config: string): Promise<string[]> {
  const blob = await readBlob({ open: async () => storage }, config, maxConfigBytes)
  return blob ? platformsOfConfig(blob) : []
}

type ManifestRow = { repo: string; digest: string; config: string }

async function* manifestsWithoutPlatforms(store: Store, condition: string): AsyncGenerator<ManifestRow> {
  let [lastRepo, lastDigest] = ['', '']
  for (;;) {
    const rows = await store.query(sql`select repo, digest, coalesce(config, '') from manifests
      where (repo, digest) > (${lastRepo}, ${lastDigest}) and platforms = '' and ${raw(condition)}
      order by repo, digest limit ${rowsAtATime}`)
    for (const [repo, digest, config] of rows as [string, string, string][]) {
      yield { repo, digest, config }
      ;[lastRepo, lastDigest] = [repo, digest]
    }
    if (rows.length < rowsAtATime) return
  }
}

function* ofIndex(repo: string, digest: string): Work<string[]> {
  const [row] =
    yield sql`select content, media_type from manifests where repo = ${repo} and digest = ${digest}`
  if (!row) return []
  const index = readManifest(row[0] as Uint8Array, row[1] as string)
  const entries = index.manifests.map((entry) => entry.digest)
  const rows =
    entries.length === 0
      ? []
      : yield sql`select digest, platforms from manifests where repo = ${repo} and digest in ${among(entries)}`
  const platforms = new Map(rows as [string, string][])
  return platformsOfIndex(index, (entry) => platformsIn(platforms.get(entry) ?? ''))
}

async function complete(
  store: Store,
  access: WriteAccess,
  repo: string,
  digest: string,
  platforms: readonly string[],
): Promise<number> {
  if (platforms.length === 0) return 0
  return await store.write(function* () {
    const rows = yield sql`update manifests set platforms = ${platforms.join(',')}
      where repo = ${repo} and digest = ${digest} and platforms = '' returning digest`
    if (rows.length > 0) yield* refreshTags(access, repo, digest)
    return rows.length
  })
}
