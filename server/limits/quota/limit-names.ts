// The names of limits in requests, settings and commands. A limit has the name of the kind that it limits, in the
// plural: `repos`, `role_bindings`.
import { nearestNames } from '@stemma/api/nearest-names.ts'

/** The names that version 1 of the API has for some kinds. */
const v1Names: ReadonlyMap<string, string> = new Map([
  ['identity_providers', 'idps'],
  ['repos', 'repositories'],
])

const kindsByV1Name: ReadonlyMap<string, string> = new Map(
  [...v1Names].map(([kind, v1Name]) => [v1Name, kind]),
)

/** The name of a limit in version 1 of the API. */
export const v1LimitName = (kind: string): string => v1Names.get(kind) ?? kind

/** The largest limit, because limits are `int32` in the contract. */
export const maxLimit = 2 ** 31 - 1

/** Each `fault` is a sentence without its subject, which is `name`. */
export type ParsedLimits = { limits: Map<string, number>; faults: { name: string; fault: string }[] }

/** Reads limits by name. Names may also be spelt as in JSON (`roleBindings`), with hyphens, or as in version 1. */
export function parseLimits(
  entries: Iterable<readonly [name: string, limit: number]>,
  kinds: readonly string[],
): ParsedLimits {
  const limits = new Map<string, number>()
  const faults: ParsedLimits['faults'] = []
  for (const [name, limit] of entries) {
    const kind = kindNamed(name, kinds)
    if (kind === undefined) faults.push({ name, fault: unknownKind(name, kinds) })
    else if (limits.has(kind))
      faults.push({ name, fault: `names the limit ${kind}, which another entry already sets` })
    else if (!(Number.isInteger(limit) && limit >= 0 && limit <= maxLimit))
      faults.push({ name, fault: `must be a whole number from 0 to ${maxLimit}` })
    else limits.set(kind, limit)
  }
  return { limits, faults }
}

/** The kind that a limit with this name is for. */
export function kindNamed(name: string, kinds: readonly string[]): string | undefined {
  const snakeCase = name.replaceAll('-', '_').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const kind = kindsByV1Name.get(snakeCase) ?? snakeCase
  return kinds.includes(kind) ? kind : undefined
}

function unknownKind(name: string, kinds: readonly string[]): string {
  const [nearest] = nearestNames(name, kinds)
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
  return `is not a kind of resource that can be limited${hint} (${kinds.join(', ')})`
}
