// Reads the versions of a package from JSON (docs/package-versions.md). An error names the field that is wrong.
import { create } from '@bufbuild/protobuf'
import type { PackageVersion, PackageVersionMetadata } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import {
  PackageVersionMetadataSchema,
  PackageVersionSchema,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'

export class PackageError extends Error {}

export type ParsedPackage = { name: string; metadata: PackageVersionMetadata }

const maxVersions = 1000
const maxGraceMonths = 120

export function parsePackage(text: string): ParsedPackage {
  const fields = objectAt('', parseJson(text), packageFields)
  const name = requiredText(fields, 'package', packageName)
  const versions = versionsOf(fields.versions)
  const [newest] = versions
  const metadata = create(PackageVersionMetadataSchema, {
    versions,
    gracePeriodMonths: monthsOf(fields.gracePeriodMonths),
    latestVersion:
      optionalText(fields, 'latestVersion', versionText) || newest?.latestVersion || newest?.version || '',
  })
  return { name, metadata }
}

type Rule = { pattern: RegExp; hint: string }

const packageName: Rule = {
  pattern: /^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$/,
  hint: 'must be a name of at most 128 letters, digits and . _ + - that begins with a letter or digit',
}
const versionText: Rule = {
  pattern: /^[A-Za-z0-9][A-Za-z0-9._+~-]{0,63}$/,
  hint: 'must be a version of at most 64 letters, digits and . _ + ~ - that begins with a letter or digit',
}
const date: Rule = { pattern: /^\d{4}-\d\d-\d\d$/, hint: 'must be a date such as 2028-10-31' }
const packageFields = ['package', 'gracePeriodMonths', 'latestVersion', 'versions']
const versionFields = [
  ...['version', 'releaseDate', 'eolDate', 'latestVersion', 'lts', 'exists', 'fips', 'eolBroken'],
]

type Fields = Record<string, unknown>

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new PackageError(`is not JSON: ${(error as Error).message}`) // JSON.parse throws SyntaxErrors
  }
}

/** `path` is empty for the record itself. */
function objectAt(path: string, value: unknown, known: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new PackageError(`${path || 'the record'} must be a JSON object, but is ${shown(value)}`)
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  if (unknown !== undefined)
    throw new PackageError(
      `${fieldPath(path, shown(unknown))} is not a field; the fields are ${known.join(', ')}`,
    )
  return value as Fields
}

function versionsOf(value: unknown) {
  if (!Array.isArray(value)) throw new PackageError(`versions must be a list, but is ${shown(value)}`)
  if (value.length > maxVersions)
    throw new PackageError(`versions must have at most ${maxVersions} entries, but has ${value.length}`)
  const seen = new Set<string>()
  return value.map((entry, at) => {
    const version = versionAt(`versions[${at}]`, entry)
    if (seen.has(version.version))
      throw new PackageError(`versions[${at}].version must be unique, but ${version.version} occurs twice`)
    seen.add(version.version)
    return version
  })
}

function versionAt(path: string, value: unknown): PackageVersion {
  const fields = objectAt(path, value, versionFields)
  const lts = flag(fields, 'lts', false, path)
  return create(PackageVersionSchema, {
    version: requiredText(fields, 'version', versionText, path),
    releaseDate: dateOf(fields, 'releaseDate', path),
    eolDate: dateOf(fields, 'eolDate', path),
    latestVersion: optionalText(fields, 'latestVersion', versionText, path),
    lts,
    legacyLts: lts ? 'true' : '',
    exists: flag(fields, 'exists', true, path),
    fips: flag(fields, 'fips', false, path),
    eolBroken: flag(fields, 'eolBroken', false, path),
  })
}

function requiredText(fields: Fields, name: string, { pattern, hint }: Rule, path = ''): string {
  const value = fields[name]
  if (typeof value !== 'string' || !pattern.test(value))
    throw new PackageError(`${fieldPath(path, name)} ${hint}, but is ${shown(value)}`)
  return value
}

const optionalText = (fields: Fields, name: string, rule: Rule, path = ''): string =>
  fields[name] === undefined ? '' : requiredText(fields, name, rule, path)

function dateOf(fields: Fields, name: string, path: string): string {
  const text = optionalText(fields, name, date, path)
  // Date.parse accepts 2026-02-30 and returns March 2.
  if (text !== '' && !isDay(text))
    throw new PackageError(`${fieldPath(path, name)} ${date.hint}, but is ${shown(text)}`)
  return text
}

function isDay(text: string): boolean {
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

function flag(fields: Fields, name: string, whenMissing: boolean, path: string): boolean {
  const value = fields[name] === undefined ? whenMissing : fields[name]
  if (typeof value !== 'boolean')
    throw new PackageError(`${fieldPath(path, name)} must be true or false, but is ${shown(value)}`)
  return value
}

function monthsOf(value: unknown = 0): number {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > maxGraceMonths)
    throw new PackageError(
      `gracePeriodMonths must be a whole number from 0 to ${maxGraceMonths}, but is ${shown(value)}`,
    )
  return value as number // checked above
}

const fieldPath = (path: string, name: string) => (path === '' ? name : `${path}.${name}`)

/** The value in an error, shortened. */
const shown = (value: unknown) => (JSON.stringify(value) ?? 'missing').slice(0, 100).toWellFormed()
