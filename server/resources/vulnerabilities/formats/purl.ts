// Package URLs: https://github.com/package-url/purl-spec.
import { encodePurlPart, qualifierOf } from '../../purl-parts.ts'
import { ecosystemOf, typeOfPurl } from './ecosystems.ts'
import { labelFault } from './json-fields.ts'
import { maxLength } from './limits.ts'

/** The content of a purl. */
export type Package = {
  /** The artifact type, which can differ from the purl type. */
  type: string
  name: string
  /** '' if the purl has none. */
  version: string
  /** The source package, from the qualifier `upstream` that scanners set; '' if the purl has none. */
  origin: string
}

/** Purl types whose namespace is a distribution. The distribution becomes the artifact's type, not part of its name. */
const distributionTypes = new Set(['apk', 'deb', 'rpm'])

/** Undefined if the text is not a purl. */
export function parsePurl(text: string): Package | undefined {
  if (!text.startsWith('pkg:')) return undefined
  const [main = '', qualifiers = ''] = (text.slice('pkg:'.length).split('#', 1)[0] ?? '').split('?')
  const path = main.replace(/^\/+/, '')
  const at = path.lastIndexOf('@')
  const end = at > path.lastIndexOf('/') ? at : path.length
  const [type = '', ...segments] = decoded(path.slice(0, end).split('/')) ?? []
  const [version] = decoded([path.slice(end + 1)]) ?? []
  const name = segments.pop()
  if (!type || !name || version === undefined) return undefined
  const upstream = qualifierOf(qualifiers, 'upstream').split('@', 1)[0] ?? ''
  const origin = labelFault(upstream, maxLength.packageName) ? '' : upstream
  return { ...artifactOf(type.toLowerCase(), segments, name), version, origin }
}

function artifactOf(type: string, namespace: string[], name: string): { type: string; name: string } {
  if (distributionTypes.has(type) && namespace.length > 0) {
    const distribution = namespace.join('/').toLowerCase()
    return { type: typeOfPurl(`${type}/${distribution}`) ?? distribution, name }
  }
  const separator = type === 'maven' ? ':' : '/'
  return { type: typeOfPurl(type) ?? type, name: [...namespace, name].join(separator) }
}

/** Removes empty parts, except the first. Undefined if the percent-encoding is invalid. */
function decoded(parts: string[]): string[] | undefined {
  try {
    return parts.map(decodeURIComponent).filter((part, at) => part !== '' || at === 0)
  } catch {
    return undefined
  }
}

/** Undefined if there is no purl type for this type of artifact, or the name has only slashes. */
export function purlOf(type: string, name: string, version = ''): string | undefined {
  const start = ecosystemOf(type)?.purl // such as `npm` or `deb/debian`
  return start ? buildPurl(start, purlName(start, name), version) : undefined
}

/** Falls back to the purl type `generic`, for documents that require a purl. */
export const purlOrGeneric = (type: string, name: string, version = '') =>
  purlOf(type, name, version) ?? buildPurl('generic', name, version) ?? 'pkg:generic/unnamed'

function purlName(start: string, name: string): string {
  if (start === 'maven') return name.replace(':', '/')
  // Names of Python packages are normalized in purls.
  return start === 'pypi' ? name.toLowerCase().replaceAll('_', '-') : name
}

function buildPurl(start: string, name: string, version: string): string | undefined {
  const segments = name.split('/').filter(Boolean).map(encodePurlPart)
  if (segments.length === 0) return undefined
  return `pkg:${start}/${segments.join('/')}${version === '' ? '' : `@${encodePurlPart(version)}`}`
}
