// Reads the SBOMs of images: finds the blobs in a transaction, and reads them afterwards.
import { failedPrecondition } from '../../../../aip/errors.ts'
import type { Work } from '../../../../store/work.ts'
import type { Dependencies, Sbom } from '../../../dependencies.ts'
import { readBlob } from '../read-blob.ts'
import type { SbomBlob } from './find-sbom.ts'
import { findSbomBlobs } from './find-sbom.ts'

/** Real SBOMs have up to a few megabytes. A thread needs about ten times as much memory to read one. */
const maxSbomBytes = 8 * 2 ** 20

/** An image, and the blobs that may be its SBOM, in the order in which they should be read. */
export type SbomSource = { digest: string; blobs: SbomBlob[] }

/** An SBOM of the image comes before one of the index that contains it. */
export function* findSbomSource(repo: string, image: string, index: string): Work<SbomSource> {
  const ofImage = yield* findSbomBlobs(repo, image)
  if (image === index) return { digest: image, blobs: ofImage }
  return { digest: image, blobs: [...ofImage, ...(yield* findSbomBlobs(repo, index))] }
}

/** Reads the first blob that is an SBOM. Reads one blob at a time, so that a call needs the memory of one. */
export async function readSbomOf(
  { content, checks }: Pick<Dependencies, 'content' | 'checks'>,
  { digest, blobs }: SbomSource,
  wanted: Sbom['kind'],
  caller: string,
): Promise<Sbom | undefined> {
  for (const blob of blobs.filter(({ size }) => size <= maxSbomBytes)) {
    const bytes = await readBlob(content, blob.digest, maxSbomBytes)
    const sbom = bytes && (await checks.readSbom(bytes, wanted, caller))
    if (sbom) return sbom
  }
  const tooLarge = blobs.find(({ size }) => size > maxSbomBytes)
  if (!tooLarge) return undefined
  throw failedPrecondition(
    'SBOM_TOO_LARGE',
    `the SBOM of ${digest} (blob ${tooLarge.digest}) has ${tooLarge.size} bytes; at most ${maxSbomBytes} can be read`,
  )
}
