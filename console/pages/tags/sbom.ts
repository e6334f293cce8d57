// Packages in a software bill of materials: SPDX, CycloneDX or Syft, plain or inside a signed statement.
import { listOf, objectOf, textOf } from './image.ts'

export type Package = { name: string; version: string; license: string; type: string }

export type Sbom = { format: string; packages: Package[] }

const maxPackages = 50_000
/** A bundle contains an envelope, which contains a statement, which contains a predicate, whose `Data` is the SBOM. */
const maxLevels = 5

/** Undefined if the content is not an SBOM in a known format. */
export function sbomOf(json: unknown): Sbom | undefined {
  let value = json
  for (let level = 0; level < maxLevels; level++) {
    const found = plainSbomOf(objectOf(value))
    if (found) return found
    value = contentOf(objectOf(value))
  }
  return undefined
}

/**
 * The content of a Sigstore bundle, DSSE envelope or in-toto statement. Older versions of cosign
 * store the document as text, in `predicate` or `predicate.Data`.
 */
function contentOf({ dsseEnvelope, payload, predicate, Data }: Record<string, unknown>): unknown {
  if (typeof payload === 'string') return parse(fromBase64(payload))
  if (typeof predicate === 'string') return parse(predicate)
  return dsseEnvelope ?? predicate ?? (typeof Data === 'string' ? parse(Data) : undefined)
}

function plainSbomOf(document: Record<string, unknown>): Sbom | undefined {
  if (typeof document.spdxVersion === 'string')
    return { format: document.spdxVersion.replace('-', ' '), packages: packagesIn(document.packages, spdx) }
  if (document.bomFormat === 'CycloneDX')
    return {
      format: `CycloneDX ${textOf(document.specVersion)}`,
      packages: packagesIn(document.components, cycloneDx),
    }
  if (Array.isArray(document.artifacts) && document.descriptor !== undefined)
    return { format: 'Syft', packages: packagesIn(document.artifacts, syft) }
  return undefined
}

const packagesIn = (list: unknown, read: (entry: Record<string, unknown>) => Package) =>
  listOf(list, maxPackages)
    .map((entry) => read(objectOf(entry)))
    .filter(({ name }) => name !== '')
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))

function spdx(entry: Record<string, unknown>): Package {
  const purl = listOf(entry.externalRefs)
    .map(objectOf)
    .find(({ referenceType }) => referenceType === 'purl')
  const licenses = [textOf(entry.licenseConcluded), textOf(entry.licenseDeclared)]
  return {
    ...{ name: textOf(entry.name), version: textOf(entry.versionInfo) },
    license: licenses.find((text) => text !== '' && text !== 'NOASSERTION' && text !== 'NONE') ?? '',
    type: typeOfPurl(textOf(purl?.referenceLocator)),
  }
}

function cycloneDx(entry: Record<string, unknown>): Package {
  const licenses = listOf(entry.licenses).map((each) => {
    const { license, expression } = objectOf(each)
    return textOf(expression) || textOf(objectOf(license).id) || textOf(objectOf(license).name)
  })
  return {
    ...{ name: textOf(entry.name), version: textOf(entry.version), license: licenses.join(', ') },
    type: typeOfPurl(textOf(entry.purl)) || textOf(entry.type),
  }
}

const syft = (entry: Record<string, unknown>): Package => ({
  ...{ name: textOf(entry.name), version: textOf(entry.version), type: textOf(entry.type) },
  license: listOf(entry.licenses)
    .map((each) => textOf(each) || textOf(objectOf(each).value))
    .join(', '),
})

/** `apk` of `pkg:apk/wolfi/curl@8.1`. */
const typeOfPurl = (purl: string) => /^pkg:([^/@]+)/.exec(purl)?.[1] ?? ''

function fromBase64(text: string): string {
  try {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
    return new TextDecoder().decode(bytes)
  } catch {
    return ''
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
