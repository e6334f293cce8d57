import type { Connection } from '@stemma/api'
import type { Command } from '../contract/commands.ts'
import { singular, spaced, withArticle } from '../contract/spelling.ts'
import { targetResource } from '../contract/target.ts'
import { exitCodes } from '../exit-codes.ts'
import { Failure, UsageError } from '../failure.ts'
import type { Match } from './find.ts'
import { findGroups, findNamed } from './find.ts'
import { isNamed, looksLikeUid, namedResourceFor } from './naming.ts'

/** Resolves the argument of a command: a name, path or uid to a uid. An id is returned as it is. */
export async function resolveTarget(connection: Connection, command: Command, text: string): Promise<string> {
  const resource = targetResource(command)
  return resource === undefined ? text : resolveUid(connection, resource, text)
}

/** Resolves a name, path or uid to a uid. Matches in `preferredGroup` take precedence over others. */
export async function resolveUid(
  connection: Connection,
  resource: string,
  text: string,
  preferredGroup?: string,
): Promise<string> {
  if (looksLikeUid(text)) return text
  const namedResource = namedResourceFor(resource)
  if (text === '') throw new UsageError(`expected the name or uid of ${withArticle(namedResource)}`)
  if (!isNamed(namedResource))
    throw new UsageError(
      `${JSON.stringify(text)} is not a uid, and ${spaced(namedResource)} cannot be found by name; stemma ${namedResource} list shows their uids`,
    )
  const matches = unique(
    await (namedResource === 'groups'
      ? findGroups(connection, text)
      : findNamed(connection, namedResource, text, preferredGroup)),
  )
  const [match, ...others] = matches
  if (!match) throw notFound(namedResource, text)
  if (others.length > 0) throw ambiguous(namedResource, text, matches)
  return match.uid
}

const unique = (matches: Match[]): Match[] => [
  ...new Map(matches.map((match) => [match.uid, match])).values(),
]

const notFound = (resource: string, text: string): Failure =>
  new Failure(
    `there is no ${spaced(singular(resource))} ${JSON.stringify(text)}, or you may not see it`,
    exitCodes.notFound,
  )

function ambiguous(resource: string, text: string, matches: Match[]): UsageError {
  const lines = matches.map(({ uid, description }) => `  ${uid}  ${description}`.trimEnd())
  return new UsageError(
    `${JSON.stringify(text)} matches ${matches.length} ${spaced(resource)}; use one of these uids instead:`,
    lines,
  )
}
