// Finds the blobs of a Helm chart.
import { failedPrecondition, noImage } from '../../../../aip/errors.ts'
import type { Demand } from '../../../../policy/admit.ts'
import { admitToRead } from '../../../../policy/admit.ts'
import { sql } from '../../../../store/sql.ts'
import type { Work } from '../../../../store/work.ts'
import { first } from '../../../../store/work.ts'
import type { ChartContent, Dependencies } from '../../../dependencies.ts'
import { readManifest } from '../manifest.ts'
import { maxConfigBytes } from '../platforms.ts'
import { readBlob } from '../read-blob.ts'
import { readImage } from './find-image.ts'

const configType = 'application/vnd.cncf.helm.config.v1+json'
const archiveType = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip'
/** Manifests of charts have about 1 KB, and archives some 100 KB. */
const maxManifestBytes = 64 * 1024
const maxArchiveBytes = 4 * 2 ** 20

/** The scope of the demand is the repo. */
export async function readRepoChart(
  { store, content, checks }: Pick<Dependencies, 'store' | 'content' | 'checks'>,
  demand: Demand,
  digest: string,
): Promise<ChartContent> {
  const blobs = await store.read(function* () {
    yield* admitToRead(demand)
    return yield* findChartBlobs(demand.scope, digest)
  })
  // A manifest is stored only if its repo has its blobs, so the caller may read them.
  const config = blobs && (await readBlob(content, blobs.config, maxConfigBytes))
  const archive = blobs && (await readBlob(content, blobs.archive, maxArchiveBytes))
  const chart = config && archive && (await checks.readChart(config, archive, demand.caller.identity))
  if (chart) return chart
  throw failedPrecondition('NO_CHART', `${digest} is not a Helm chart of at most ${maxArchiveBytes} bytes`)
}

/** Undefined if the manifest is not that of a chart. */
function* findChartBlobs(
  repo: string,
  digest: string,
): Work<{ config: string; archive: string } | undefined> {
  const { mediaType, length } = yield* readImage(repo, digest)
  if (length > maxManifestBytes) return undefined
  const row = yield* first(sql`select content from manifests where repo = ${repo} and digest = ${digest}`)
  if (!row) throw noImage(digest)
  const { config, blobs } = readManifest(row[0] as Uint8Array, mediaType)
  const archive = blobs.find((blob) => blob.mediaType === archiveType)
  return config?.mediaType === configType && archive
    ? { config: config.digest, archive: archive.digest }
    : undefined
}
