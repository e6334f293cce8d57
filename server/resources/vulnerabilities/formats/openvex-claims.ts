// A statement of an OpenVEX document is about any number of products; a claim is about one.
import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { Happening } from './imported.ts'
import { RecordError } from './imported.ts'
import type { Package } from './purl.ts'
import { parsePurl } from './purl.ts'
import type { Fields } from './record-fields.ts'
import { faultOfLabel, fieldsOf, labelIn, listIn, noteIn, textIn, timeIn } from './record-fields.ts'
import type { Status } from './vex-status.ts'
import { happeningOf, reasons, statuses } from './vex-status.ts'

export type Claim = {
  /** The name of the vulnerability, and others of it. */
  name: string
  aliases: string[]
  artifact: Package
  /** The part of the artifact that is vulnerable. */
  component: Package | undefined
  /** Names all of these. */
  about: string
  happening: Happening
  time: number
  updated: number
  /** The statement without its other products. */
  statement: object
}

export function claimsOf(document: Fields, documentTime: number): Claim[] {
  return listIn(document, 'statements', '').flatMap((item, at) => {
    const path = `statements[${at}]`
    return claimsIn(fieldsOf(item, path), `${path}.`, documentTime)
  })
}

function claimsIn(statement: Fields, path: string, documentTime: number): Claim[] {
  const vulnerability = fieldsOf(statement.vulnerability, `${path}vulnerability`)
  const name = labelIn(vulnerability, 'name', `${path}vulnerability.`, 255)
  const aliases = listIn(vulnerability, 'aliases', `${path}vulnerability.`).filter(
    (alias) => typeof alias === 'string',
  )
  const time = timeIn(statement, 'timestamp', path) ?? documentTime
  const updated = timeIn(statement, 'last_updated', path) ?? time
  const happening = happeningIn(statement, path)
  return productsIn(statement, path).map(({ product, artifact, component }) => ({
    ...{ name, aliases, artifact, component, time, updated },
    about: [name, artifact, component]
      .flatMap((part) => (typeof part === 'object' ? `${part.type}/${part.name}` : (part ?? [])))
      .join(':'),
    happening: happening(artifact.version),
    statement: { ...statement, products: [product] },
  }))
}

function happeningIn(statement: Fields, path: string): (version: string) => Happening {
  const status = statuses.find((one) => one === statement.status)
  if (!status) throw new RecordError(`${path}status must be one of ${statuses.join(', ')}`)
  const note = noteKeys[status].map((key) => noteIn(statement, key, path, 8192)).find(Boolean) ?? ''
  const justification = textIn(statement, 'justification', path)
  const reason = justification === undefined ? FalsePositive.UNSPECIFIED : reasons.get(justification)
  if (reason === undefined)
    throw new RecordError(`${path}justification must be one of ${[...reasons.keys()].join(', ')}`)
  return (version) => happeningOf(status, version, note, reason)
}

/** Where a statement says more, best first. */
const noteKeys: Record<Status, string[]> = {
  under_investigation: [],
  affected: ['action_statement', 'status_notes'],
  fixed: ['status_notes', 'action_statement'],
  not_affected: ['impact_statement', 'status_notes'],
}

type Product = { product: Fields; artifact: Package; component: Package | undefined }

/** Products that are no packages, such as web sites, are passed over. */
function productsIn(statement: Fields, path: string): Product[] {
  return listIn(statement, 'products', path).flatMap((item, at): Product[] => {
    const here = `${path}products[${at}]`
    const product = fieldsOf(item, here)
    const artifact = packageIn(product, here)
    if (!artifact) return []
    const parts = listIn(product, 'subcomponents', `${here}.`).flatMap((part, index): Product[] => {
      const where = `${here}.subcomponents[${index}]`
      const component = packageIn(fieldsOf(part, where), where)
      return component ? [{ product: { ...product, subcomponents: [part] }, artifact, component }] : []
    })
    return parts.length > 0 ? parts : [{ product, artifact, component: undefined }]
  })
}

function packageIn(product: Fields, path: string): Package | undefined {
  const identifiers = fieldsOf(product.identifiers ?? {}, `${path}.identifiers`)
  const text = textIn(identifiers, 'purl', `${path}.identifiers.`) ?? textIn(product, '@id', `${path}.`)
  if (!text?.startsWith('pkg:')) return undefined
  const found = parsePurl(text)
  const isPlain =
    found &&
    !faultOfLabel(found.type, 255) &&
    !faultOfLabel(found.name, 512) &&
    !faultOfLabel(found.version || '0', 255)
  if (!isPlain) throw new RecordError(`${path} must have a purl that can be read`)
  return found
}
