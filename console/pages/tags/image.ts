// Images as their manifests and configurations describe them. Anyone who may push can write these,
// so every field can be absent or of another type.
import type { Descriptor, Manifest, Platform } from '../../api/registry.ts'

export const platformText = ({ os, architecture, variant }: Platform) =>
  [os, architecture, variant].filter((part) => typeof part === 'string' && part !== '').join('/')

const indexTypes: readonly unknown[] = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
]

export const isIndex = ({ mediaType }: Descriptor) => indexTypes.includes(mediaType)

const isAttestation = ({ annotations }: Descriptor) =>
  annotations?.['vnd.docker.reference.type'] === 'attestation-manifest'

/** The images of an index, without the attestations that buildkit puts beside them. */
export const imagesIn = ({ manifests = [] }: Manifest) => manifests.filter((entry) => !isAttestation(entry))

/** The attestations about one image of an index. */
export const attestationsIn = ({ manifests = [] }: Manifest, digest: string) =>
  manifests.filter(
    (entry) => isAttestation(entry) && entry.annotations?.['vnd.docker.reference.digest'] === digest,
  )

/** How an image runs and how it was built. */
export type ImageConfig = {
  platform: string
  created: string
  author: string
  user: string
  workingDir: string
  entrypoint: string[]
  command: string[]
  ports: string[]
  volumes: string[]
  env: [name: string, value: string][]
  labels: [name: string, value: string][]
  history: BuildStep[]
}

/** `isEmpty` steps, such as those that set a variable, have no layer. */
export type BuildStep = { command: string; created: string; isEmpty: boolean }

/** Larger lists are cut: the page would become slow. */
const maxItems = 500

export function imageConfigOf(json: unknown): ImageConfig {
  const config = objectOf(json)
  const run = objectOf(config.config)
  return {
    platform: platformText(config as Platform),
    created: textOf(config.created),
    author: textOf(config.author),
    user: textOf(run.User),
    workingDir: textOf(run.WorkingDir),
    entrypoint: textsOf(run.Entrypoint),
    command: textsOf(run.Cmd),
    ports: Object.keys(objectOf(run.ExposedPorts)).slice(0, maxItems),
    volumes: Object.keys(objectOf(run.Volumes)).slice(0, maxItems),
    env: textsOf(run.Env).map((each) => {
      const [name = '', ...value] = each.split('=')
      return [name, value.join('=')]
    }),
    labels: Object.entries(objectOf(run.Labels))
      .slice(0, maxItems)
      .map(([name, value]) => [name, textOf(value)]),
    history: listOf(config.history).map((step) => {
      const { created_by: command, created, empty_layer: isEmpty } = objectOf(step)
      return { command: textOf(command), created: textOf(created), isEmpty: isEmpty === true }
    }),
  }
}

export type Step = { command: string; layer?: Descriptor }

/** The steps of the build with their layers. If the history does not fit the layers, the layers alone. */
export function stepsOf(layers: readonly Descriptor[], history: readonly BuildStep[]): Step[] {
  if (history.filter(({ isEmpty }) => !isEmpty).length !== layers.length)
    return layers.map((layer) => ({ command: '', layer }))
  let at = 0
  return history.map(({ command, isEmpty }) => {
    const layer = isEmpty ? undefined : layers[at++]
    return { command: readableCommand(command), ...(layer && { layer }) }
  })
}

/** Replaces the shell prefix of older builders, and removes the comment that buildkit appends. */
const readableCommand = (command: string) =>
  command
    .replace(/^\/bin\/sh -c #\(nop\)\s+/, '')
    .replace(/^\/bin\/sh -c /, 'RUN ')
    .replace(/ # buildkit$/, '')

/** A command as one would type it in a shell. */
export const shellText = (words: readonly string[]) =>
  words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ')

export const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
export const listOf = (value: unknown, max = maxItems): unknown[] =>
  Array.isArray(value) ? value.slice(0, max) : []
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const textsOf = (value: unknown) => listOf(value).map(textOf)
