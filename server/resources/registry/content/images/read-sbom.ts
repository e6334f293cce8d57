// Reads an SBOM in JSON: an SPDX 2 or CycloneDX document, by itself or as the predicate of an in-toto statement, which
// may be in a DSSE envelope or a sigstore bundle. It runs in a separate thread
// (server/checks-thread.ts), because anyone who may push chooses the content.
import type { Sbom } from '../../../dependencies.ts'
import { cycloneDxPackages, spdxPackages } from './sbom-packages.ts'
import { isObject } from './untrusted-json.ts'

export type SbomTask = { kind: 'sbom'; content: Uint8Array; wanted: Sbom['kind'] }

/** Undefined if the content is not an SBOM. */
export function readSbom({ content, wanted }: Omit<SbomTask, 'kind'>): Sbom | undefined {
  const document = documentIn(parse(Buffer.from(content).toString('utf8')), maxWrappers)
  if (!document) return undefined
  if (wanted === 'document') return { kind: 'document', document: JSON.stringify(document.fields) }
  const packagesOf = document.format === 'SPDX' ? spdxPackages : cycloneDxPackages
  return { kind: 'packages', packages: packagesOf(document.fields) }
}

type Document = { format: 'SPDX' | 'CycloneDX'; fields: Record<string, unknown> }

/** Bundle, envelope, statement, and the predicate of older versions of cosign. */
const maxWrappers = 4

function documentIn(value: unknown, wrappers: number): Document | undefined {
  if (!isObject(value)) return undefined
  if (typeof value.spdxVersion === 'string') return { format: 'SPDX', fields: value }
  if (value.bomFormat === 'CycloneDX') return { format: 'CycloneDX', fields: value }
  return wrappers === 0 ? undefined : documentIn(unwrap(value), wrappers - 1)
}

function unwrap({ dsseEnvelope, payload, predicate, Data }: Record<string, unknown>): unknown {
  if (dsseEnvelope !== undefined) return dsseEnvelope
  if (typeof payload === 'string') return parse(Buffer.from(payload, 'base64').toString('utf8'))
  // Older versions of cosign store the document as text, in `predicate` or `predicate.Data`.
  if (typeof predicate === 'string') return parse(predicate)
  return predicate ?? (typeof Data === 'string' ? parse(Data) : Data)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
