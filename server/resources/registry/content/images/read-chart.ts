// Reads a Helm chart: its metadata from the configuration of its manifest, and texts from its
// archive. It runs in a separate thread (server/checks-thread.ts), because anyone who may push
// chooses the content.
import { gunzipSync } from 'node:zlib'
import type { ChartContent } from '../../../dependencies.ts'
import { tarFiles } from './tar-files.ts'
import { isObject, listOf, textOf } from './untrusted-json.ts'

/** The configuration is Chart.yaml as JSON. */
export type ChartTask = { kind: 'chart'; config: Uint8Array; archive: Uint8Array }

const maxUnpackedBytes = 16 * 2 ** 20
const maxFileBytes = 2 ** 20
const maxEntries = 1000

/** Undefined if the content is not a chart. */
export function readChart({ config, archive }: Omit<ChartTask, 'kind'>): ChartContent | undefined {
  const fields = parse(config)
  if (!isObject(fields) || textOf(fields.name) === '') return undefined
  const files = filesIn(archive)
  const annotations = annotationsOf(fields.annotations)
  return {
    name: textOf(fields.name),
    version: textOf(fields.version),
    appVersion: textOf(fields.appVersion),
    description: textOf(fields.description),
    dependencies: listOf(fields.dependencies).slice(0, maxEntries).filter(isObject).map(dependencyOf),
    annotations,
    images: imagesIn(annotations.images ?? ''),
    raw: files.get('Chart.yaml') ?? '',
    values: files.get('values.yaml') ?? '',
    changelog: files.get('CHANGELOG.md') ?? '',
  }
}

const dependencyOf = ({ name, version, repository }: Record<string, unknown>) => ({
  ...{ name: textOf(name), version: textOf(version), repository: textOf(repository) },
})

function annotationsOf(value: unknown): Record<string, string> {
  const entries = Object.entries(isObject(value) ? value : {}).slice(0, maxEntries)
  return Object.fromEntries(
    entries.flatMap(([key, text]) =>
      typeof text === 'string' ? [[key.toWellFormed(), text.toWellFormed()]] : [],
    ),
  )
}

/**
 * The annotation is a list in YAML, of entries with `name` and `image`. Keys and lists inside of an entry are indented
 * more than its own keys, and ignored.
 */
function imagesIn(list: string): ChartContent['images'] {
  const images: ChartContent['images'] = []
  let dashColumn: number | undefined
  let keyColumn = 0
  for (const line of list.split('\n').map((each) => each.trimEnd())) {
    const text = line.trimStart()
    const indent = line.length - text.length
    const hasDash = text === '-' || text.startsWith('- ')
    if (hasDash) dashColumn ??= indent
    const isEntry = hasDash && indent === dashColumn
    const field = isEntry ? text.slice(1).trimStart() : text
    if (isEntry) {
      if (images.length === maxEntries) break
      images.push({ name: '', image: '' })
      keyColumn = line.length - field.length
    }
    const image = images.at(-1)
    if (!image || line.length - field.length !== keyColumn) continue
    // Linear in the length of the text, which may be 1 MB: no two neighbouring parts match the same character.
    const [, key, value = ''] = /^(name|image):\s*["']?([^"'\s]+)["']?$/.exec(field) ?? []
    if (key === 'name' || key === 'image') image[key] = value
  }
  return images.filter(({ name, image }) => name !== '' || image !== '')
}

/** The texts in the folder of the chart, by name. Empty if it is not an archive. */
function filesIn(archive: Uint8Array): Map<string, string> {
  const texts = new Map<string, string>()
  try {
    for (const { path, content } of tarFiles(gunzipSync(archive, { maxOutputLength: maxUnpackedBytes }))) {
      const [, name = '', ...below] = path.split('/')
      if (below.length === 0 && content.length <= maxFileBytes)
        texts.set(name, content.toString('utf8').toWellFormed())
    }
  } catch {
    return new Map()
  }
  return texts
}

function parse(config: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(config).toString('utf8'))
  } catch {
    return undefined
  }
}
