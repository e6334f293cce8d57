// Responses with resources: single ones and lists.
import { openBudget } from './budget.ts'
import { ScimError } from './errors.ts'
import { testOf } from './filter/evaluate.ts'
import { maxComparedByList } from './limits.ts'
import type { ListContext } from './list.ts'
import { findPage, listAdvice } from './list.ts'
import type { ListQuery } from './list-query.ts'
import { withReferences } from './references.ts'
import type { ScimDependencies, ScimRequest, ScimResponse } from './request.ts'
import type { Selection } from './schema/project.ts'
import { includes, project } from './schema/project.ts'
import type { Resource, ResourceType } from './schema/schema.ts'
import { sortingBy } from './sort.ts'
import type { Stored, StoredType } from './stored.ts'
import { represent } from './stored.ts'

/** The resources as clients see them, with the selected attributes. */
export async function show(
  context: ListContext,
  stored: StoredType,
  rows: Stored[],
  selection: Selection,
): Promise<Resource[]> {
  const needsReferences = includes(stored.type, selection, stored.references.name)
  const complete = needsReferences ? await withReferences(context, stored, rows) : rows
  return complete.map((row) => project(stored.type, represent(stored.type, context.base, row), selection))
}

/**
 * The list of resources of some types, one type after the other (RFC 7644 section 3.4.2). If at
 * least one type has all attributes of the filter and the order, types without them have no
 * matches.
 */
export async function listResponse(
  { store }: ScimDependencies,
  searched: readonly { stored: StoredType }[],
  { provider, base }: ScimRequest,
  query: ListQuery,
): Promise<ScimResponse> {
  const context = { store, provider, base }
  const budget = openBudget(maxComparedByList, listAdvice)
  const resources: Resource[] = []
  let [total, count] = [0, query.count]
  const fitting = searched.filter(({ stored }) => hasAttributesOf(stored.type, query))
  for (const { stored } of fitting.length > 0 ? fitting : searched) {
    const startIndex = Math.max(1, query.startIndex - total)
    const matches = await findPage(context, stored, { ...query, startIndex, count }, budget)
    total += matches.total
    const shown = await show(context, stored, matches.page, query.selection)
    resources.push(...shown)
    const isCutOff = shown.length < Math.min(count, matches.total - startIndex + 1)
    count = isCutOff ? 0 : count - shown.length
  }
  return {
    status: 200,
    body: {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      totalResults: total,
      startIndex: query.startIndex,
      itemsPerPage: resources.length,
      Resources: resources,
    },
  }
}

function hasAttributesOf(type: ResourceType, { filter, order }: ListQuery): boolean {
  try {
    if (filter) testOf(type, filter)
    if (order) sortingBy(type, order)
    return true
  } catch (error) {
    if (error instanceof ScimError) return false
    throw error
  }
}
