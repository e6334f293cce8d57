// Manifests: pull, push and delete.
import { createHash } from 'node:crypto'
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { Code } from '../aip/code.ts'
import { registryError } from '../aip/registry-error.ts'
import type { Digest } from '../blobs/digest.ts'
import { algorithmOf, hexOf } from '../blobs/digest.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen } from '../wire/maybe-promise.ts'
import { uncountedBytes } from './body-budget.ts'
import { call } from './call.ts'
import type { Exchange, RegistryDependencies, RegistryResponse } from './door-context.ts'
import { repoForPush, repoOf } from './names.ts'
import { readBody } from './read-body.ts'
import { isTag } from './route.ts'

/** OCI Distribution recommends accepting at least 4 MB. */
const maxManifestBytes = 8 * 2 ** 20
const maxTags = 100

type Reference = { tag: string } | { digest: Digest }

const textOf = (reference: Reference) => ('tag' in reference ? reference.tag : reference.digest)

export function getManifest(
  deps: RegistryDependencies,
  exchange: Exchange,
  reference: Reference,
): MaybePromise<RegistryResponse> {
  const withoutContent = exchange.request.method === 'HEAD'
  const read = () =>
    andThen(repoOf(deps, exchange), (repo) => ({ repo, reference: textOf(reference), withoutContent }))
  return andThen(
    call(deps, exchange, Content.method.getManifest, read),
    ({ digest, mediaType, size, content }): RegistryResponse => ({
      status: 200,
      headers: { 'content-type': mediaType, 'docker-content-digest': digest, etag: `"${digest}"` },
      body: content,
      size: Number(size),
    }),
  )
}

export async function putManifest(
  deps: RegistryDependencies,
  exchange: Exchange,
  reference: Reference,
): Promise<RegistryResponse> {
  const { request, name, query } = exchange
  const tags = 'tag' in reference ? [reference.tag] : tagsOf(query)
  const { digest, subject } = await call(deps, exchange, Content.method.putManifest, async () => {
    if (mayBeLarge(exchange)) await requirePushAccess(deps, exchange)
    const content = await readBody(deps, exchange, maxManifestBytes, 'a manifest')
    const digest = digestOf(content, reference)
    const repo = await repoForPush(deps, exchange)
    return { repo, digest, mediaType: request.headers['content-type'] ?? '', content, tags }
  })
  return {
    status: 201,
    headers: {
      location: `/v2/${name}/manifests/${digest}`,
      'docker-content-digest': digest,
      ...(subject !== '' && { 'oci-subject': subject }),
      ...('digest' in reference && tags.length > 0 && { 'oci-tag': tags }),
    },
  }
}

const mayBeLarge = ({ request: { headers } }: Exchange) =>
  Number(headers['content-length'] ?? maxManifestBytes) > uncountedBytes

/** PutManifest checks access after the body is read, so a client without access could make the server read megabytes. */
async function requirePushAccess(deps: RegistryDependencies, exchange: Exchange): Promise<void> {
  await call(deps, exchange, Content.method.getPushAccess, () =>
    andThen(repoOf(deps, exchange), (repo) => ({ repo })),
  )
}

function tagsOf(query: URLSearchParams): string[] {
  const tags = query.getAll('tag')
  if (tags.length > maxTags)
    throw registryError(
      'TAG_INVALID',
      Code.INVALID_ARGUMENT,
      `at most ${maxTags} tags can be pushed at once`,
      {
        http: 414,
      },
    )
  const wrong = tags.find((tag) => !isTag(tag))
  if (wrong === undefined) return tags
  throw registryError('TAG_INVALID', Code.INVALID_ARGUMENT, `${JSON.stringify(wrong)} cannot be a tag`)
}

function digestOf(content: Uint8Array, reference: Reference): string {
  const algorithm = 'digest' in reference ? algorithmOf(reference.digest) : 'sha256'
  const hex = createHash(algorithm).update(content).digest('hex')
  if ('digest' in reference && hex !== hexOf(reference.digest))
    throw registryError(
      'DIGEST_INVALID',
      Code.INVALID_ARGUMENT,
      `the content has the digest ${algorithm}:${hex}, not ${reference.digest}`,
    )
  return `${algorithm}:${hex}`
}

export async function deleteManifest(
  deps: RegistryDependencies,
  exchange: Exchange,
  reference: Reference,
): Promise<RegistryResponse> {
  if ('tag' in reference)
    await call(deps, exchange, Content.method.deleteTagName, () =>
      andThen(repoOf(deps, exchange), (repo) => ({ repo, name: reference.tag })),
    )
  else
    await call(deps, exchange, Content.method.deleteManifest, () =>
      andThen(repoOf(deps, exchange), (repo) => ({ repo, digest: reference.digest })),
    )
  return { status: 202 }
}
