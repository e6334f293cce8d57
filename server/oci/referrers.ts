// The manifests that describe another one, such as its signatures.
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import type { Digest } from '../blobs/digest.ts'
import { parseDigest } from '../blobs/digest.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen } from '../wire/maybe-promise.ts'
import { call } from './call.ts'
import type { Exchange, RegistryDependencies, RegistryResponse } from './door-context.ts'
import { repoOf } from './names.ts'

const indexType = 'application/vnd.oci.image.index.v1+json'

export function getReferrers(
  deps: RegistryDependencies,
  exchange: Exchange,
  subject: Digest,
): MaybePromise<RegistryResponse> {
  const { name, query } = exchange
  const artifactType = query.get('artifactType') ?? ''
  const after = parseDigest(query.get('last') ?? '') ?? ''
  const read = () => andThen(repoOf(deps, exchange), (repo) => ({ repo, subject, artifactType, after }))
  return andThen(
    call(deps, exchange, Content.method.listReferrers, read),
    ({ referrers, hasMore }): RegistryResponse => {
      const manifests = referrers.map(({ mediaType, digest, size, artifactType: type, annotations }) => ({
        ...{ mediaType, digest, size: Number(size) },
        ...(type !== '' && { artifactType: type }),
        ...(Object.keys(annotations).length > 0 && { annotations }),
      }))
      const next = new URLSearchParams({
        ...(artifactType !== '' && { artifactType }),
        last: referrers.at(-1)?.digest ?? '',
      })
      return {
        status: 200,
        headers: {
          'content-type': indexType,
          ...(artifactType !== '' && { 'oci-filters-applied': 'artifactType' }),
          ...(hasMore && { link: `</v2/${name}/referrers/${subject}?${next}>; rel="next"` }),
        },
        body: Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests })),
      }
    },
  )
}
