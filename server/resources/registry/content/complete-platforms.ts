// Adds missing platforms to manifests: those that were pushed before the server stored platforms,
// and those whose configuration could not be read when they were pushed.
import type { BlobStore } from '../../../blobs/blob-store.ts'
import { BoundedMap } from '../../../bounded-map.ts'
import type { Store } from '../../../store/db.ts'
import type { Sql } from '../../../store/sql.ts'
import { among, raw, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { WriteAccess } from '../../../store/write-access.ts'
import { platformsIn, refreshTags } from '../tag-content.ts'
import type { Manifest } from './manifest.ts'
import { readManifest } from './manifest.ts'
import { isImageConfig, maxConfigBytes, platformsOfConfig, platformsOfIndex } from './platforms.ts'
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
  const ofConfig = async (config: string) => {
    const platforms = known.get(config) ?? (await readPlatforms(storage, config))
    known.set(config, platforms)
    return platforms
  }
  let completed = 0
  for await (const row of manifestsWhere(store, raw(`config is not null and platforms = ''`))) {
    const platforms = await ofConfig(row.config)
    if (platforms.length > 0 && (await store.read(() => isImage(row))))
      completed += await complete(store, access, row, platforms)
  }
  return completed + (await completeIndexes(store, access))
}

/**
 * Repeats until nothing changes, because an index entry that states no platform gets the platforms
 * of its manifest, which may be an index itself.
 */
async function completeIndexes(store: Store, access: WriteAccess): Promise<number> {
  let completed = 0
  for await (const row of manifestsWhere(store, raw('config is null'))) {
    const platforms = await store.read(() => ofIndex(row))
    // Never fewer, since manifests of the index may have been deleted.
    if (platforms.length > platformsIn(row.platforms).length)
      completed += await complete(store, access, row, platforms)
  }
  return completed === 0 ? 0 : completed + (await completeIndexes(store, access))
}

async function readPlatforms(storage: BlobStore, config: string): Promise<string[]> {
  const blob = await readBlob({ open: async () => storage }, config, maxConfigBytes)
  return blob ? platformsOfConfig(blob) : []
}

type ManifestRow = { repo: string; digest: string; config: string; platforms: string }

async function* manifestsWhere(store: Store, condition: Sql): AsyncGenerator<ManifestRow> {
  let [lastRepo, lastDigest] = ['', '']
  for (;;) {
    const rows = await store.query(sql`select repo, digest, coalesce(config, ''), platforms from manifests
      where (repo, digest) > (${lastRepo}, ${lastDigest}) and ${condition}
      order by repo, digest limit ${rowsAtATime}`)
    for (const [repo, digest, config, platforms] of rows as [string, string, string, string][]) {
      yield { repo, digest, config, platforms }
      ;[lastRepo, lastDigest] = [repo, digest]
    }
    if (rows.length < rowsAtATime) return
  }
}

/** Other artifacts may have configurations with an operating system, too, but have no platform. */
function* isImage({ repo, digest }: ManifestRow): Work<boolean> {
  const { config } = (yield* readStored(repo, digest)) ?? {}
  return config !== undefined && isImageConfig(config.mediaType)
}

function* ofIndex({ repo, digest }: ManifestRow): Work<string[]> {
  const index = yield* readStored(repo, digest)
  if (!index) return []
  const entries = index.manifests.map((entry) => entry.digest)
  const rows =
    entries.length === 0
      ? []
      : yield sql`select digest, platforms from manifests where repo = ${repo} and digest in ${among(entries)}`
  const platforms = new Map(rows as [string, string][])
  return platformsOfIndex(index, (entry) => platformsIn(platforms.get(entry) ?? ''))
}

function* readStored(repo: string, digest: string): Work<Manifest | undefined> {
  const [row] =
    yield sql`select content, media_type from manifests where repo = ${repo} and digest = ${digest}`
  return row && readManifest(row[0] as Uint8Array, row[1] as string)
}

async function complete(
  store: Store,
  access: WriteAccess,
  { repo, digest, platforms: former }: ManifestRow,
  platforms: readonly string[],
): Promise<number> {
  return await store.write(function* () {
    const rows = yield sql`update manifests set platforms = ${platforms.join(',')}
      where repo = ${repo} and digest = ${digest} and platforms = ${former} returning digest`
    if (rows.length > 0) yield* refreshTags(access, repo, digest)
    return rows.length
  })
}
