// The platforms of images, as text such as `linux/arm/v7`.
import type { JsonObject } from './bounded-json.ts'
import { parseJsonObject, UnreadableJson } from './bounded-json.ts'
import type { Manifest, Platform } from './manifest.ts'

/** Anyone who may push chooses the text, so a text that no build tool would write is not shown as a platform. */
const platformPattern = /^[A-Za-z0-9._-]{1,64}(?:\/[A-Za-z0-9._-]{1,64}){1,2}$/
/** Build tools give this platform to entries of an index that are not images, such as SBOMs and attestations. */
const noPlatform = 'unknown/unknown'
const maxPlatforms = 100

/** Media types of the configurations of images. Other artifacts have configurations without a platform. */
const imageConfigTypes = new Set([
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
])

/** Limited, because configurations are read as a whole and parsed in the event loop. Most have a few kilobytes. */
export const maxConfigBytes = 2 ** 20

export const isImageConfig = (mediaType: string): boolean => imageConfigTypes.has(mediaType)

/** Undefined if it is not the platform of an image. */
export function platformNameOf({ os, architecture, variant }: Platform): string | undefined {
  const name = [os, architecture, variant].filter((part) => part !== '').join('/')
  return os !== '' && architecture !== '' && name !== noPlatform && platformPattern.test(name)
    ? name
    : undefined
}

/** The platforms of an index. If an entry states none, `platformsOf` returns the platforms of its manifest. */
export function platformsOfIndex(
  { manifests }: Manifest,
  platformsOf: (digest: string) => readonly string[],
): string[] {
  const platforms = manifests.flatMap(({ digest, platform }) =>
    platform ? (platformNameOf(platform) ?? []) : platformsOf(digest),
  )
  return [...new Set(platforms)].slice(0, maxPlatforms)
}

/** The platform in the configuration of an image. Empty if it states none. Anyone can push any configuration. */
export function platformsOfConfig(config: Uint8Array): string[] {
  const fields = parseConfig(config)
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  const { os, architecture, variant } = fields ?? {}
  const name = platformNameOf({ os: text(os), architecture: text(architecture), variant: text(variant) })
  return name === undefined ? [] : [name]
}

/** Undefined if the configuration is not a JSON object. */
export function parseConfig(config: Uint8Array): JsonObject | undefined {
  try {
    return parseJsonObject(config)
  } catch (error) {
    if (error instanceof UnreadableJson) return undefined
    throw error
  }
}
