// Says how to ask for less, to a caller whose list took too long.
import type { DescField } from '@bufbuild/protobuf'
import type { Method } from '@stemma/api/method.ts'
import { isRequired } from '@stemma/api/method.ts'
import { Code } from '../aip/code.ts'
import type { StatusError } from '../aip/errors.ts'
import { deadlineExceeded } from '../aip/errors.ts'
import { costClassOf } from './rate/cost-class.ts'

/** Parameters of a list that are not filters. */
const nonFilters = new Set([
  ...['page_size', 'page_token', 'order_by', 'skip', 'format'],
  ...['after_sequence', 'follow'], // a stream without them sends less
])
/** The filters by position in the tree that are always cheaper than the whole list. */
const treeFilters = ['uidp.descendants_of', 'uidp.children_of']

/** Adds advice to the error of a list that took too long. Returns other errors unchanged. */
export function withNarrowingAdvice(method: Method, error: StatusError): StatusError {
  if (error.code !== Code.DEADLINE_EXCEEDED || costClassOf(method) !== 'list') return error
  const advice = adviceFor(method)
  return advice === undefined ? error : deadlineExceeded(advice)
}

/** Undefined if the request has neither pages nor filters, or if callers do not set its fields themselves. */
function adviceFor({ desc: { name: methodName, input }, bindings, isStream }: Method): string | undefined {
  // Only other doors, such as the registry, call methods without bindings. Their clients do not know the fields.
  if (bindings.length === 0) return undefined
  // Some methods that are not lists cost as much as one, but have no filters.
  if (!isStream && !methodName.startsWith('List')) return undefined
  // Some streams have the request of a list, but no pages.
  const hasPages = !isStream && input.fields.some(({ name }) => name === 'page_size')
  const filters = input.fields.filter(isFilter).flatMap(filterNames)
  const ways = [
    ...(hasPages ? ['set a smaller page_size'] : []),
    ...(filters.length > 0 ? [`filter by ${listed(filters)}`] : []),
  ]
  return ways.length > 0 ? `ask for less: ${ways.join(', or ')}` : undefined
}

/** Every call sets the required fields, so they are not filters. `include_…` makes a list longer. */
const isFilter = (field: DescField) =>
  !nonFilters.has(field.name) && !field.name.startsWith('include_') && !isRequired(field)

const filterNames = ({ name }: DescField) => (name === 'uidp' ? treeFilters : [name])

const listed = (names: string[]) =>
  names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
