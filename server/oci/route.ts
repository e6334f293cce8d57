// The paths of the registry protocol below /v2/ (OCI Distribution 1.1, "Endpoints").
import type { Digest } from '../blobs/digest.ts'
import { parseDigest } from '../blobs/digest.ts'

/** The endpoint that a path names. `name` is the name of a repo as the client wrote it; it may contain slashes. */
export type OciRoute =
  | { kind: 'base' }
  | { kind: 'catalog' }
  | { kind: 'token' }
  | { kind: 'tags'; name: string }
  | { kind: 'manifest'; name: string; reference: { tag: string } | { digest: Digest } }
  | { kind: 'blob'; name: string; digest: Digest }
  | { kind: 'uploads'; name: string }
  | { kind: 'upload'; name: string; id: string }
  | { kind: 'referrers'; name: string; digest: Digest }
  /** Not part of the protocol. `extension` is a segment such as `_stemma`. */
  | { kind: 'history'; name: string; extension: string; tag: string }
  /** The path belongs to the protocol, but this part of it is malformed. */
  | { kind: 'invalid'; part: 'name' | 'digest' | 'reference' }

const ociPrefix = '/v2/'
/** Not a path of the repo `token`: those are longer, such as `/v2/token/tags/list`. */
export const tokenPath = '/v2/token'

export const isOciPath = (path: string): boolean => path.startsWith(ociPrefix) || path === '/v2'

/** Longer than every uid, and than every name that clients accept. */
const maxNameLength = 1200
const tagPattern = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/
const segmentPattern = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/

export const isTag = (text: string): boolean => tagPattern.test(text)

export const isRepoName = (name: string): boolean =>
  name.length <= maxNameLength && name.split('/').every((segment) => segmentPattern.test(segment))

/**
 * Undefined if no endpoint has such a path. The end of the path decides, because a name may contain every word that
 * endpoints contain: `/v2/tags/list/manifests/latest` is a manifest of the repo `tags/list`.
 */
export function routeOf(path: string): OciRoute | undefined {
  if (path === '/v2' || path === ociPrefix) return { kind: 'base' }
  if (path === '/v2/_catalog') return { kind: 'catalog' }
  if (path === tokenPath) return { kind: 'token' }
  if (!path.startsWith(ociPrefix)) return undefined
  const segments = path.slice(ociPrefix.length).split('/')
  const [last = ''] = segments.slice(-1)
  const nameBefore = (count: number) => segments.slice(0, -count).join('/')
  const [collection, action] = segments.slice(-2)
  if (collection === 'tags' && action === 'list')
    return named(nameBefore(2), (name) => ({ kind: 'tags', name }))
  // No segment of a name begins with an underscore.
  if (collection === 'history' && segments.at(-3)?.startsWith('_'))
    return named(nameBefore(3), (name) => historyRoute(name, segments.at(-3) ?? '', last))
  if (collection === 'manifests') return named(nameBefore(2), (name) => manifestRoute(name, last))
  if (collection === 'referrers')
    return named(nameBefore(2), (name) => withDigest(last, (digest) => ({ kind: 'referrers', name, digest })))
  if (segments.at(-3) === 'blobs' && collection === 'uploads')
    return named(nameBefore(3), (name) =>
      last === '' ? { kind: 'uploads', name } : { kind: 'upload', name, id: last },
    )
  if (collection === 'blobs' && last === 'uploads')
    return named(nameBefore(2), (name) => ({ kind: 'uploads', name }))
  if (collection === 'blobs')
    return named(nameBefore(2), (name) => withDigest(last, (digest) => ({ kind: 'blob', name, digest })))
  return undefined
}

const named = (name: string, route: (name: string) => OciRoute): OciRoute =>
  isRepoName(name) ? route(name) : { kind: 'invalid', part: 'name' }

/** No tag contains a colon, and every digest does. */
function manifestRoute(name: string, reference: string): OciRoute {
  if (reference.includes(':'))
    return withDigest(reference, (digest) => ({ kind: 'manifest', name, reference: { digest } }))
  return isTag(reference)
    ? { kind: 'manifest', name, reference: { tag: reference } }
    : { kind: 'invalid', part: 'reference' }
}

const historyRoute = (name: string, extension: string, tag: string): OciRoute =>
  isTag(tag) ? { kind: 'history', name, extension, tag } : { kind: 'invalid', part: 'reference' }

function withDigest(text: string, route: (digest: Digest) => OciRoute): OciRoute {
  const digest = parseDigest(text)
  return digest ? route(digest) : { kind: 'invalid', part: 'digest' }
}
