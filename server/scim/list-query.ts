// The parameters of a list, from the query of a GET or the body of a search (RFC 7644 sections 3.4.2 and 3.4.3).
import { badRequest } from './errors.ts'
import type { Filter } from './filter/parse.ts'
import { parseFilter } from './filter/parse.ts'
import { defaultPageSize, maxPageSize } from './limits.ts'
import type { Selection } from './schema/project.ts'
import { readNames } from './schema/project.ts'
import type { Resource } from './schema/schema.ts'
import type { Order } from './sort.ts'

export type ListQuery = {
  filter: Filter | undefined
  /** From 1. */
  startIndex: number
  count: number
  order: Order | undefined
  selection: Selection
}

export const selectionOf = (query: URLSearchParams): Selection => ({
  attributes: readNames(query.getAll('attributes')),
  excludedAttributes: readNames(query.getAll('excludedAttributes')),
})

export const listQueryOf = (query: URLSearchParams): ListQuery => ({
  ...pagingOf((name) => query.get(name) ?? undefined),
  selection: selectionOf(query),
})

export function searchOf(body: Resource): ListQuery {
  const names = (name: string) => {
    const list = body[name] ?? []
    if (!Array.isArray(list) || !list.every((item) => typeof item === 'string'))
      throw badRequest('invalidValue', `${name} must be a list of strings`)
    return readNames(list)
  }
  return {
    ...pagingOf((name) => textOf(name, body[name])),
    selection: { attributes: names('attributes'), excludedAttributes: names('excludedAttributes') },
  }
}

function textOf(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  throw badRequest('invalidValue', `${name} must be a string or a number`)
}

function pagingOf(get: (name: string) => string | undefined): Omit<ListQuery, 'selection'> {
  const [filter, sortBy, sortOrder] = [get('filter'), get('sortBy'), get('sortOrder') ?? 'ascending']
  if (!['ascending', 'descending'].includes(sortOrder.toLowerCase()))
    throw badRequest('invalidValue', 'sortOrder must be ascending or descending')
  return {
    filter: filter === undefined || filter.trim() === '' ? undefined : parseFilter(filter),
    // Less than 1 means 1, and a negative count means 0 (RFC 7644 section 3.4.2.4).
    startIndex: Math.max(1, integerOf('startIndex', get('startIndex'), 1)),
    count: Math.min(maxPageSize, Math.max(0, integerOf('count', get('count'), defaultPageSize))),
    order: sortBy ? { by: sortBy, isDescending: sortOrder.toLowerCase() === 'descending' } : undefined,
  }
}

function integerOf(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined || text === '') return otherwise
  if (!/^-?\d{1,15}$/.test(text)) throw badRequest('invalidValue', `${name} must be a whole number`)
  return Number(text)
}
