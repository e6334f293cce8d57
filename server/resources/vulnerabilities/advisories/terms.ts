// The terms and texts by which advisories are found. A filter matches a term that is equal to it; a query matches a
// text that contains it.
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { PostingIndex } from '../../../store/postings/postings.ts'
import { latestApproved, typeOf } from '../event-type.ts'

export const advisoryIndex: PostingIndex = { table: 'advisory_postings', numbersColumn: 'advisories' }

/**
 * The prefix of the terms of each field. Prefixes are stored, so they must not change; `q` is reserved for trigrams
 * (term-hash.ts).
 */
const fieldPrefixes = {
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
} as const

export type SearchField = keyof typeof fieldPrefixes

export const termOf = (field: SearchField, value: string | number) => `${fieldPrefixes[field]}:${value}`

/** Queries ignore case. */
export const foldCase = (text: string) => text.toLowerCase()

/**
 * `origin` is the source package of the artifact, or '' if it is unknown. Aliases come before the
 * terms of events, so that find-vulnerabilities.ts can read the aliases without the events, which
 * may be very long.
 */
export function termsOf(advisory: Advisory, origin: string): string[] {
  const { events, aliases } = advisory
  const latest = latestApproved(advisory)
  const values: [SearchField, string | number][] = [
    ['advisoryId', advisory.advisoryId],
    ['legacyAdvisoryId', advisory.legacyAdvisoryId ?? ''],
    ['artifactName', advisory.artifactName],
    ['artifactType', advisory.artifactType],
    ['artifactArchitecture', advisory.artifactArchitecture],
    ['componentName', advisory.componentName],
    ['componentType', advisory.componentType],
    ['componentLocation', advisory.componentLocation],
    ['origin', origin],
    ...aliases.map((alias): [SearchField, string] => ['alias', alias]),
    ...events.flatMap((event): [SearchField, string | number][] => [
      ['reviewState', event.reviewState],
      ['eventAuthor', event.author],
      ['eventReviewer', event.reviewer],
      ['eventType', typeOf(event)],
    ]),
    ...(latest ? [['latestEventType', typeOf(latest)] as [SearchField, number]] : []),
  ]
  const present = values.filter(([, value]) => value !== '')
  return [...new Set(present.map(([field, value]) => termOf(field, value)))]
}

export function textsOf({ artifactName, componentName, aliases }: Advisory): string[] {
  return [...new Set([artifactName, componentName, ...aliases].filter(Boolean).map(foldCase))]
}

/** One column with an item on each line. Line breaks at both ends let SQL search for a whole item. */
export const joinLines = (items: readonly string[]) => `\n${items.join('\n')}\n`

export const splitLines = (column: string) => column.split('\n').filter(Boolean)

/** The values of a field in the column `terms`. */
export function valuesIn(column: string, field: SearchField): string[] {
  const prefix = termOf(field, '')
  return splitLines(column)
    .filter((term) => term.startsWith(prefix))
    .map((term) => term.slice(prefix.length))
}
