// The page that a search asks for (AuthZEN 1.0 section 8.2.1).
import { invalidField } from '../../aip/errors.ts'
import { optionalObject, optionalString } from './entities.ts'
import type { JsonObject } from './read-object.ts'

export type Page = { pageSize: number; pageToken: string }

/** A limit of 0 is the same as an absent limit. The limit may differ from page to page. */
export function readPage(body: JsonObject): Page {
  const page = optionalObject(body, 'page', '') ?? {}
  optionalObject(page, 'properties', 'page.')
  return { pageSize: readLimit(page), pageToken: optionalString(page, 'token', 'page.') ?? '' }
}

function readLimit(page: JsonObject): number {
  const limit = page.limit ?? 0
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 0)
    throw invalidField('page.limit', 'must be a whole number, 0 or more')
  // The API reduces page sizes above its maximum itself, but refuses numbers from 2^31.
  return Math.min(limit, maxLimit)
}

const maxLimit = 1_000_000
