// The calls for SBOMs of images. v2 has no such calls.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type {
  ManifestMetadata,
  ManifestMetadataFilter,
  RawSbomRequest,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import {
  ManifestMetadataListSchema,
  ManifestMetadataSchema,
  RawSbomSchema,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { failedPrecondition, invalidField, noSbom } from '../../../aip/errors.ts'
import type { Call } from '../../../rpc/call.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { SbomPackage } from '../../dependencies.ts'
import type { V1Dependencies, WantedImage } from '../dependencies.ts'

const maxImages = 20
/** The most packages in one response. They take about 4 MB. */
const maxPackages = 20_000

export const sbomMethods = ({ images }: V1Dependencies) => ({
  async listManifestMetadata({ demand, request }: Call<ManifestMetadataFilter>) {
    const items: ManifestMetadata[] = []
    let count = 0
    for (const { digest, read } of await images.findSboms(demand, () => imagesOf(request))) {
      const sbom = await read('packages')
      const packages = sbom?.kind === 'packages' ? sbom.packages : []
      count += packages.length
      if (count > maxPackages)
        throw failedPrecondition(
          'TOO_MANY_PACKAGES',
          `the images have more than ${maxPackages} packages; name fewer images`,
        )
      items.push(create(ManifestMetadataSchema, { digest, pkgMetadata: packages.map(toV1) }))
    }
    return messageReply(ManifestMetadataListSchema, create(ManifestMetadataListSchema, { items }))
  },

  async getRawSbom({ demand, request }: Call<RawSbomRequest>) {
    const { digest, arch: architecture } = request
    const [found] = await images.findSboms(demand, () => [{ digest, architecture }])
    const sbom = await found?.read('document')
    if (sbom?.kind !== 'document') throw noSbom(found?.digest ?? digest)
    return messageReply(RawSbomSchema, create(RawSbomSchema, { rawSbom: sbom.document }))
  },
})

function imagesOf({ items, digests }: ManifestMetadataFilter): WantedImage[] {
  const ofItems = items.map(({ filter }, at): WantedImage => {
    const digest = filter.case === 'indexFilter' ? filter.value.digest : (filter.value ?? '')
    if (digest === '') throw invalidField(`items[${at}]`, 'must have the digest of an image or of an index')
    return { digest, architecture: filter.case === 'indexFilter' ? filter.value.arch : '' }
  })
  const images = [...ofItems, ...digests.map((digest) => ({ digest, architecture: '' }))]
  if (images.length === 0) throw invalidField('digests', 'must name at least one image if items names none')
  if (images.length > maxImages)
    throw invalidField('digests', `must name at most ${maxImages} images together with items`)
  return images
}

const toV1 = ({ purl, originPurl, license, buildTime }: SbomPackage) => ({
  ...{ purl, originPurl, license },
  ...(buildTime !== undefined && { buildTimestamp: timestampFromMs(buildTime) }),
})
