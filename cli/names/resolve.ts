// From a name to the one uid that it means.
import type { Connection } from '@stemma/api'
import { singular } from '../contract/spelling.ts'
import { exitCodes } from '../exit-codes.ts'
import { Refused, UsageError } from '../usage.ts'
import type { Found } from './find.ts'
import { findGroups, findNamed } from './find.ts'
import { isNamed, looksLikeUid, namedLike } from './kinds.ts'

/** `near` is the group that the command is about, whose own come first. */
export async function uidOf(
  connection: Connection,
  resource: string,
  text: string,
  near?: string,
): Promise<string> {
  if (looksLikeUid(text)) return text
  const kind = namedLike(resource)
  if (text === '') throw new UsageError(`must name one of the ${spoken(kind)}, by name or by uid`)
  if (!isNamed(kind))
    throw new UsageError(
      `${JSON.stringify(text)} is no uid, and ${spoken(kind)} have no names; stemma ${kind} list shows their uids`,
    )
  const found = unique(await candidates(connection, kind, text, near))
  const [only, ...others] = found
  if (!only) throw unknown(kind, text)
  if (others.length > 0) throw ambiguous(kind, text, found)
  return only.uid
}

function candidates(connection: Connection, kind: string, text: string, near?: string): Promise<Found[]> {
  if (kind === 'groups') return findGroups(connection, text)
  return findNamed(connection, kind, text, near)
}

const unique = (found: Found[]): Found[] => [...new Map(found.map((one) => [one.uid, one])).values()]

function unknown(kind: string, text: string): Refused {
  return new Refused(
    `there is no ${spoken(singular(kind))} ${JSON.stringify(text)} that you can see`,
    exitCodes.notFound,
  )
}

function ambiguous(kind: string, text: string, found: Found[]): UsageError {
  const lines = found.map(({ uid, description }) => `  ${uid}  ${description}`.trimEnd())
  return new UsageError(
    `${JSON.stringify(text)} could be any of ${found.length} ${spoken(kind)}; say which by its uid:`,
    lines,
  )
}

const spoken = (words: string) => words.replaceAll('-', ' ')
