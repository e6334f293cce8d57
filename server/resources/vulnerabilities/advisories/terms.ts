// What advisories are found by: terms, which must be met exactly, and texts, of which a part is enough.
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { latestApproved, typeOf } from '../event-type.ts'

/** One letter for each field, so that a term says which it is of. */
export const fields = {
  advisoryId: 'i',
  legacyAdvisoryId: 'l',
  artifactName: 'n',
  artifactType: 'y',
  artifactArchitecture: 'a',
  componentName: 'c',
  componentType: 'k',
  componentLocation: 'p',
  alias: 'v',
  origin: 'o',
  reviewState: 's',
  eventAuthor: 'u',
  eventReviewer: 'r',
  eventType: 'e',
  latestEventType: 'z',
  /** Three characters of a text, as queries find it. */
  trigram: 'q',
} as const

export type Field = keyof typeof fields

export const termOf = (field: Field, value: string | number) => `${fields[field]}:${value}`

/** As queries compare: whatever the case. */
export const folded = (text: string) => text.toLowerCase()

/** `origin` is the package that the artifact is built from, if it is another. */
export function termsOf(advisory: Advisory, origin: string): string[] {
  const { events, aliases } = advisory
  const latest = latestApproved(advisory)
  const pairs: [Field, string | number][] = [
    ['advisoryId', advisory.advisoryId],
    ['legacyAdvisoryId', advisory.legacyAdvisoryId ?? ''],
    ['artifactName', advisory.artifactName],
    ['artifactType', advisory.artifactType],
    ['artifactArchitecture', advisory.artifactArchitecture],
    ['componentName', advisory.componentName],
    ['componentType', advisory.componentType],
    ['componentLocation', advisory.componentLocation],
    ['origin', origin],
    ...aliases.map((alias): [Field, string] => ['alias', alias]),
    ...events.flatMap((event): [Field, string | number][] => [
      ['reviewState', event.reviewState],
      ['eventAuthor', event.author],
      ['eventReviewer', event.reviewer],
      ['eventType', typeOf(event)],
    ]),
    ...(latest ? [['latestEventType', typeOf(latest)] as [Field, number]] : []),
  ]
  return [...new Set(pairs.filter(([, value]) => value !== '').map(([field, value]) => termOf(field, value)))]
}

export function textsOf({ artifactName, componentName, aliases }: Advisory): string[] {
  return [...new Set([artifactName, componentName, ...aliases].filter(Boolean).map(folded))]
}

/** Many in one column, each of which can be looked for. */
export const listed = (items: readonly string[]) => `\n${items.join('\n')}\n`

export const unlisted = (column: string) => column.split('\n').filter(Boolean)

/** The hashes of all that an advisory is found by. */
export function hashesOf(root: string, terms: Iterable<string>, texts: Iterable<string>): Set<number> {
  const start = stateOf(`${root}\n`)
  const hashes = new Set<number>()
  for (const term of terms) hashes.add(hashOf(term, start))
  const trigram = stateOf(termOf('trigram', ''), start)
  for (const text of texts)
    for (let at = 0; at + 3 <= text.length; at++) hashes.add(hashOf(text, trigram, at, at + 3))
  return hashes
}

type State = readonly [low: number, high: number]

/** Of 52 bits, which every number here holds: far and near texts have different ones, hardly ever the same. */
export function hashOf(text: string, start?: State, from?: number, to?: number): number {
  const [low, high] = stateOf(text, start, from, to)
  return (low >>> 0) + ((high ^ (high >>> 13)) & 0xfffff) * 2 ** 32
}

function stateOf(
  text: string,
  [low, high]: State = [0x811c9dc5, 0x9747b28c],
  from = 0,
  to = text.length,
): State {
  for (let at = from; at < to; at++) {
    const unit = text.charCodeAt(at)
    low = Math.imul(low ^ unit, 0x01000193)
    high = Math.imul(high ^ unit, 0x85ebca6b) ^ (low >>> 15)
  }
  return [low, high]
}

/** The number of an advisory, from the last segment of its uid: that two have the same is rare, and does no harm. */
export const numberOf = (uid: string) => Number.parseInt(uid.slice(-16, -3), 16)
