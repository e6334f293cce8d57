// Package URLs: https://github.com/package-url/purl-spec.
import { ecosystemOf, typeOfPurl } from './ecosystems.ts'
import { faultOfLabel } from './record-fields.ts'

/** What a purl says, in our words. */
export type Package = {
  type: string
  name: string
  /** '' where it says none. */
  version: string
  /** The package it is built from, as scanners write it; else ''. */
  origin: string
}

/** Packages of distributions are named without the distribution. */
const systems = new Set(['apk', 'deb', 'rpm'])

/** Nothing for what is no purl. */
export function parsePurl(text: string): Package | undefined {
  if (!text.startsWith('pkg:')) return undefined
  const [front = '', qualifiers = ''] = (text.slice(4).split('#', 1)[0] ?? '').split('?')
  const path = front.replace(/^\/+/, '')
  const at = path.lastIndexOf('@')
  const end = at > path.lastIndexOf('/') ? at : path.length
  const [type = '', ...segments] = decoded(path.slice(0, end).split('/')) ?? []
  const [version] = decoded([path.slice(end + 1)]) ?? []
  const name = segments.pop()
  if (!type || !name || version === undefined) return undefined
  const upstream = new URLSearchParams(qualifiers).get('upstream')?.split('@', 1)[0] ?? ''
  const origin = faultOfLabel(upstream, 512) ? '' : upstream
  return { ...artifactOf(type.toLowerCase(), segments, name), version, origin }
}

function artifactOf(type: string, namespace: string[], name: string): { type: string; name: string } {
  if (systems.has(type) && namespace.length > 0) {
    const distribution = namespace.join('/').toLowerCase()
    return { type: typeOfPurl(`${type}/${distribution}`) ?? distribution, name }
  }
  const joint = type === 'maven' ? ':' : '/'
  return { type: typeOfPurl(type) ?? type, name: [...namespace, name].join(joint) }
}

function decoded(parts: string[]): string[] | undefined {
  try {
    return parts.map(decodeURIComponent).filter((part, at) => part !== '' || at === 0)
  } catch {
    return undefined
  }
}

/** Nothing for artifacts that purls have no word for. */
export function purlOf(type: string, name: string, version = ''): string | undefined {
  const begin = ecosystemOf(type)?.purl
  return begin ? assembled(begin, nameIn(begin, name), version) : undefined
}

/** For where something must stand. */
export const anyPurlOf = (type: string, name: string, version = '') =>
  purlOf(type, name, version) ?? assembled('generic', name, version) ?? 'pkg:generic/unnamed'

function nameIn(begin: string, name: string): string {
  if (begin === 'maven') return name.replace(':', '/')
  // The purl of a Python package has the name as pip compares it.
  return begin === 'pypi' ? name.toLowerCase().replaceAll('_', '-') : name
}

function assembled(begin: string, name: string, version: string): string | undefined {
  const segments = name.split('/').filter(Boolean).map(encoded)
  if (segments.length === 0) return undefined
  return `pkg:${begin}/${segments.join('/')}${version === '' ? '' : `@${encoded(version)}`}`
}

const encoded = (part: string) => encodeURIComponent(part).replaceAll('%3A', ':')
