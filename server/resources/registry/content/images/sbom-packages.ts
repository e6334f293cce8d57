// The packages of SBOM documents. Packages without a package URL are left out.
import type { SbomPackage } from '../../../dependencies.ts'
import { encodePurlPart, qualifierOf } from '../../../purl-parts.ts'
import { isObject, listOf, textOf } from './untrusted-json.ts'

const maxPackages = 10_000
/** CycloneDX nests components. */
const maxDepth = 16

/** SPDX 2.3, "packages". */
export function spdxPackages({ packages }: Record<string, unknown>): SbomPackage[] {
  const found = listOf(packages).flatMap((entry) => (isObject(entry) ? spdxPackage(entry) : []))
  return found.slice(0, maxPackages)
}

function spdxPackage(entry: Record<string, unknown>): SbomPackage[] {
  const reference = listOf(entry.externalRefs).find((ref) => isObject(ref) && ref.referenceType === 'purl')
  const purl = isObject(reference) ? textOf(reference.referenceLocator) : ''
  const license = [entry.licenseDeclared, entry.licenseConcluded].map(textOf).find(isLicense) ?? ''
  return packageOf(purl, license, Date.parse(textOf(entry.builtDate)))
}

const isLicense = (text: string) => text !== '' && text !== 'NOASSERTION' && text !== 'NONE'

/** CycloneDX, "components". */
export function cycloneDxPackages({ components }: Record<string, unknown>): SbomPackage[] {
  const found: SbomPackage[] = []
  const add = (entries: unknown, depth: number): void => {
    for (const entry of listOf(entries)) {
      if (!isObject(entry) || found.length >= maxPackages) continue
      found.push(...packageOf(textOf(entry.purl), licenseOf(entry.licenses), Number.NaN))
      if (depth < maxDepth) add(entry.components, depth + 1)
    }
  }
  add(components, 1)
  return found
}

/** Each entry is an expression, or a license with an id or a name. */
function licenseOf(licenses: unknown): string {
  const names = listOf(licenses).map((entry) => {
    if (!isObject(entry)) return ''
    const { id, name } = isObject(entry.license) ? entry.license : {}
    return textOf(entry.expression) || textOf(id) || textOf(name)
  })
  return textOf(names.filter((name) => name !== '').join(' AND '))
}

function packageOf(purl: string, license: string, buildTime: number): SbomPackage[] {
  if (!purl.startsWith('pkg:')) return []
  const time = buildTime >= 0 && buildTime < maxTime ? { buildTime } : {}
  return [{ purl, originPurl: originOf(purl), license, ...time }]
}

/** The year 10000. A protobuf Timestamp must be earlier. */
const maxTime = Date.UTC(10_000, 0)

/**
 * The package from which another one was built. Package URLs of apk name it as `origin`, those of scanners as
 * `upstream`, optionally with its version.
 */
function originOf(purl: string): string {
  const [path = '', query = ''] = purl.split('#')[0]?.split('?') ?? []
  const origin = qualifierOf(query, 'origin') || qualifierOf(query, 'upstream')
  const [name = '', originVersion] = origin.split('@')
  const version = originVersion === undefined ? (path.split('@')[1] ?? '') : encodePurlPart(originVersion)
  const namespace = path.split('@')[0]?.split('/').slice(0, -1).join('/') ?? ''
  if (name === '' || namespace === '') return purl
  return `${namespace}/${encodePurlPart(name)}${version === '' ? '' : `@${version}`}`.toWellFormed()
}
