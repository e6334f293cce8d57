// Splits the statements of an OpenVEX document into claims. A statement has any number of products and components; a
// claim has one product and at most one component.
import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { EventType } from './events.ts'
import type { Fields } from './json-fields.ts'
import { fieldsOf, labelFault, labelIn, listIn, noteIn, textIn, timeIn } from './json-fields.ts'
import { maxLength } from './limits.ts'
import type { Status } from './openvex-status.ts'
import { eventTypeOf, reasons, statuses } from './openvex-status.ts'
import type { Package } from './purl.ts'
import { parsePurl } from './purl.ts'
import { RecordError } from './record-error.ts'

export type Claim = {
  /** The main name of the vulnerability. */
  name: string
  aliases: string[]
  artifact: Package
  /** The vulnerable component of the artifact. */
  component: Package | undefined
  /** Identifies the vulnerability, the artifact and the component. */
  subject: string
  eventType: EventType
  time: number
  updateTime: number
  /** The statement without its other products and components. */
  statement: object
}

export function claimsOf(document: Fields, documentTime: number): Claim[] {
  return listIn(document, 'statements', '').flatMap((item, index) => {
    const path = `statements[${index}]`
    return claimsIn(fieldsOf(item, path), `${path}.`, documentTime)
  })
}

function claimsIn(statement: Fields, path: string, documentTime: number): Claim[] {
  const vulnerability = fieldsOf(statement.vulnerability, `${path}vulnerability`)
  const name = labelIn(vulnerability, 'name', `${path}vulnerability.`, maxLength.recordId)
  const aliases = listIn(vulnerability, 'aliases', `${path}vulnerability.`).filter(
    (alias) => typeof alias === 'string',
  )
  const time = timeIn(statement, 'timestamp', path) ?? documentTime
  const updateTime = timeIn(statement, 'last_updated', path) ?? time
  const eventTypeFor = readStatus(statement, path)
  return productsIn(statement, path).map(({ product, artifact, component }) => ({
    ...{ name, aliases, artifact, component, time, updateTime },
    subject: [
      name,
      ...[artifact, component].flatMap((part) => (part ? `${part.type}/${part.name}` : [])),
    ].join(':'),
    eventType: eventTypeFor(artifact.version),
    statement: { ...statement, products: [product] },
  }))
}

/** Returns a function from the version of the product to the type of the event. */
function readStatus(statement: Fields, path: string): (version: string) => EventType {
  const status = statuses.find((name) => name === statement.status)
  if (!status) throw new RecordError(`${path}status must be one of ${statuses.join(', ')}`)
  const note = noteKeys[status].map((key) => noteIn(statement, key, path, maxLength.note)).find(Boolean) ?? ''
  const justification = textIn(statement, 'justification', path)
  const reason = justification === undefined ? FalsePositive.UNSPECIFIED : reasons.get(justification)
  if (reason === undefined)
    throw new RecordError(`${path}justification must be one of ${[...reasons.keys()].join(', ')}`)
  return (version) => eventTypeOf(status, version, note, reason)
}

/** The fields of a statement that can explain its status, the preferred field first. */
const noteKeys: Record<Status, string[]> = {
  under_investigation: [],
  affected: ['action_statement', 'status_notes'],
  fixed: ['status_notes', 'action_statement'],
  not_affected: ['impact_statement', 'status_notes'],
}

type ProductAndComponent = { product: Fields; artifact: Package; component: Package | undefined }

/** Products that are not packages, such as web sites, are skipped. */
function productsIn(statement: Fields, path: string): ProductAndComponent[] {
  return listIn(statement, 'products', path).flatMap((item, index): ProductAndComponent[] => {
    const productPath = `${path}products[${index}]`
    const product = fieldsOf(item, productPath)
    const artifact = packageIn(product, productPath)
    if (!artifact) return []
    const byComponent = componentsIn(product, artifact, productPath)
    return byComponent.length > 0 ? byComponent : [{ product, artifact, component: undefined }]
  })
}

function componentsIn(product: Fields, artifact: Package, path: string): ProductAndComponent[] {
  return listIn(product, 'subcomponents', `${path}.`).flatMap((item, index): ProductAndComponent[] => {
    const itemPath = `${path}.subcomponents[${index}]`
    const component = packageIn(fieldsOf(item, itemPath), itemPath)
    return component ? [{ product: { ...product, subcomponents: [item] }, artifact, component }] : []
  })
}

/** Undefined if the product is not identified by a purl. */
function packageIn(product: Fields, path: string): Package | undefined {
  const identifiers = fieldsOf(product.identifiers ?? {}, `${path}.identifiers`)
  const purl = textIn(identifiers, 'purl', `${path}.identifiers.`) ?? textIn(product, '@id', `${path}.`)
  if (!purl?.startsWith('pkg:')) return undefined
  const parsed = parsePurl(purl)
  const isValid =
    parsed &&
    !labelFault(parsed.type, maxLength.packageType) &&
    !labelFault(parsed.name, maxLength.packageName) &&
    !labelFault(parsed.version || '0', maxLength.version)
  if (!isValid) throw new RecordError(`${path} must have a valid purl`)
  return parsed
}
