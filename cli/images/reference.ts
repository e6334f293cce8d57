import { UsageError } from '../failure.ts'

/** `reference` is a tag or digest. */
export type ImageReference = { name: string; reference: string }

const namePattern = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*)*$/
const tagPattern = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/
const digestPattern = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/

export const isDigest = (text: unknown): text is string =>
  typeof text === 'string' && digestPattern.test(text)

/** Parses the name of an image in the registry `host`: `[HOST/]NAME[:TAG|@DIGEST]`. */
export function parseReference(text: string, host: string): ImageReference {
  const local = text.startsWith(`${host}/`) ? text.slice(host.length + 1) : text
  const [, name = '', separator, reference = 'latest'] = /^([^:@]*)(?:([:@])(.*))?$/.exec(local) ?? []
  const isValid = separator === '@' ? isDigest(reference) : tagPattern.test(reference)
  if (namePattern.test(name) && isValid) return { name, reference }
  const [first = '', ...rest] = text.split('/')
  if (rest.length > 0 && (first.includes(':') || first === 'localhost'))
    throw new UsageError(`${JSON.stringify(text)} is not in the registry ${host}; name its server with --api`)
  throw new UsageError(
    `${JSON.stringify(text)} is not the name of an image; expected one such as acme/platform/app:latest or acme/platform/app@sha256:…`,
  )
}
