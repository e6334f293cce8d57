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
  /** Of a text, as queries find it. */
  text: 't',
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
    ['origin', advisory.artifactName],
    ...aliases.map((alias): [Field, string] => ['alias', alias]),
    ...events.flatMap((event): [Field, string | number][] => [
      ['reviewState', event.reviewState],
      ['eventAuthor', event.author],
      ['eventReviewer', event.reviewer],
      ['eventType', typeOf(event)],
    ]),
    ...(latest ? [['latestEventType', typeOf(latest)] as [Field, number]] : []),
    ...textsOf(advisory).map((text): [Field, string] => ['text', text]),
  ]
  return [...new Set(pairs.filter(([, value]) => value !== '').map(([field, value]) => termOf(field, value)))]
}

export function textsOf({ artifactName, componentName, aliases }: Advisory): string[] {
  return [...new Set([artifactName, componentName, ...aliases].filter(Boolean).map(folded))]
}

/** Every three characters that stand together. */
export function trigramsOf(text: string): string[] {
  const characters = [...text]
  return [...new Set(characters.slice(2).map((_, at) => characters.slice(at, at + 3).join('')))]
}

/** Many in one column, each of which can be looked for. */
export const listed = (items: readonly string[]) => `\n${items.join('\n')}\n`

/** Of 52 bits, which every number here holds: far and near texts have different ones, hardly ever the same. */
export function hashOf(text: string): number {
  let [low, high] = [0x811c9dc5, 0x9747b28c]
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    low = Math.imul(low ^ unit, 0x01000193)
    high = Math.imul(high ^ unit, 0x85ebca6b) ^ (low >>> 15)
  }
  return (low >>> 0) + ((high ^ (high >>> 13)) & 0xfffff) * 2 ** 32
}

/** The number of an advisory: the last segment of a uid is random enough. */
export const numberOf = (uid: string) => Number.parseInt(uid.slice(-16, -3), 16)

export const termHash = (root: string, term: string) => hashOf(`${root}\n${term}`)
