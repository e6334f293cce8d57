// Reads the configurations and SBOMs of images, and counts manifests, for v1. v2 has no calls for these.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { ImageConfig } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { failedPrecondition, notFound } from '../../../../aip/errors.ts'
import type { Demand } from '../../../../policy/admit.ts'
import { admitToRead } from '../../../../policy/admit.ts'
import { sql } from '../../../../store/sql.ts'
import { first } from '../../../../store/work.ts'
import type { MaybePromise } from '../../../../wire/maybe-promise.ts'
import type { Dependencies, Sbom } from '../../../dependencies.ts'
import { countManifests } from '../../repo-size.ts'
import { maxConfigBytes } from '../platforms.ts'
import { readBlob } from '../read-blob.ts'
import { findImage } from './find-image.ts'
import { readConfig } from './read-config.ts'
import type { SbomSource } from './read-image-sboms.ts'
import { findSbomSource, readSbomOf } from './read-image-sboms.ts'

/** An image in the repo that is the scope of the demand. `architecture` may be empty. */
export type WantedImage = { digest: string; architecture: string }

export async function readImageConfig(
  { store, content }: Dependencies,
  demand: Demand,
  { digest, architecture }: WantedImage,
): Promise<ImageConfig> {
  const image = await store.read(function* () {
    yield* admitToRead(demand)
    return yield* findImage(demand.scope, digest, architecture)
  })
  // A manifest is stored only if its repo has the configuration, so the caller may read it.
  const blob = image.config === null ? undefined : await readBlob(content, image.config, maxConfigBytes)
  const config = blob && readConfig(blob)
  if (config) return config
  throw failedPrecondition(
    'NO_IMAGE_CONFIG',
    `${image.digest} has no image configuration of at most ${maxConfigBytes} bytes`,
  )
}

/**
 * For each image its digest, and the function that reads its SBOM. An image that is named several times, by its digest
 * or by indexes that contain it, is returned once. Up to 3 MiB of manifests are parsed for each image, so this function
 * lets other calls run between two images.
 */
export async function findSboms(
  deps: Dependencies,
  demand: Demand,
  images: () => readonly WantedImage[],
): Promise<{ digest: string; read(wanted: Sbom['kind']): Promise<Sbom | undefined> }[]> {
  const named = await deps.store.read(function* () {
    yield* admitToRead(demand)
    return images()
  })
  const distinct = new Map(named.map((image) => [`${image.digest} ${image.architecture}`, image]))
  const sources = new Map<string, SbomSource>()
  for (const { digest: wanted, architecture } of distinct.values()) {
    await nextTurn()
    const source = await deps.store.read(function* () {
      yield* admitToRead(demand)
      const { digest } = yield* findImage(demand.scope, wanted, architecture)
      return yield* findSbomSource(demand.scope, digest, wanted)
    })
    const known = sources.get(source.digest)
    // An index can have an SBOM that the image has not.
    if (!known || known.blobs.length < source.blobs.length) sources.set(source.digest, source)
  }
  return Array.from(sources.values(), (source) => ({
    digest: source.digest,
    read: (wanted) => readSbomOf(deps, source, wanted, demand.caller.identity),
  }))
}

/** The scope of the demand is a group or a repo. */
export const countManifestsBelow = ({ store }: Dependencies, demand: Demand): MaybePromise<number> =>
  store.read(function* () {
    yield* admitToRead(demand)
    const { scope } = demand
    const row = yield* first(
      sql`select 1 from groups where uid = ${scope} union all select 1 from repos where uid = ${scope}`,
    )
    if (!row) throw notFound(GroupSchema.typeName, scope)
    return yield* countManifests(scope)
  })
