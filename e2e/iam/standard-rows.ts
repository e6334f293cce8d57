// Rows of the access matrix for the standard methods of every resource (AIP-131 to 135), derived from the options of
// these methods.
import type { Method } from '@stemma/api/method.ts'
import type { Operation } from '@stemma/api/reference/operations.ts'
import { createIn, operations, parentFor, requestAt, resourceMessages } from './matrix-context.ts'
import type { MatrixRow } from './matrix-row.ts'
import { anyToken, codesFor, visibleFor } from './matrix-row.ts'

export type StandardMethod = { verb: 'Get' | 'List' | 'Create' | 'Update' | 'Delete'; resource: string }

/**
 * The verb and the resource of a standard method: `Create` and `Group` of CreateGroup, or of Groups.Create in v1.
 * Undefined for all other methods, and for those that only operators may call: they need no capabilities, so no row can
 * be derived for them.
 */
export function standardMethod({ desc, access }: Method): StandardMethod | undefined {
  if (access?.operators) return undefined
  const [, verb, suffix = ''] = /^(Get|List|Create|Update|Delete)(.*)$/.exec(desc.name) ?? []
  const noun = suffix || desc.parent.name.replace(/Service$/, '')
  const resource = [...resourceMessages.keys()].find((name) => noun === name || noun === pluralOf(name))
  return verb && resource ? { verb: verb as StandardMethod['verb'], resource } : undefined // matched by the pattern
}

const pluralOf = (name: string) => `${name.replace(/y$/, 'ie')}s`

export const standardRows: Record<string, MatrixRow> = Object.fromEntries(
  [...operations].flatMap(([name, operation]) => {
    const standard = standardMethod(operation.method)
    return standard ? [[name, rowOf(operation, standard)]] : []
  }),
)

function rowOf(operation: Operation, { verb, resource }: StandardMethod): MatrixRow {
  const { desc, access } = operation.method
  const capabilities = access?.capabilities ?? []
  const codes = codesFor(capabilities)
  switch (verb) {
    case 'List': {
      // Lists of v1 filter by `id`, lists of v2beta1 by `uidp.ids`.
      const filtersById = desc.input.fields.some(({ name }) => name === 'id')
      return {
        async request(context) {
          const uid = await createIn(context, resource)
          return filtersById ? { id: uid } : { uidp: { ids: [uid] } }
        },
        codes: anyToken,
        visible: visibleFor(capabilities),
      }
    }
    case 'Create':
      return {
        request: async (context) => requestAt(context, operation, await parentFor(context, resource)),
        codes,
      }
    default:
      return {
        request: async (context) => requestAt(context, operation, await createIn(context, resource)),
        codes,
      }
  }
}
