// Spells the names of fields in errors as the caller wrote them.
import { jsonPathOf, resolvePath } from '../../aip/field-path.ts'
import { parameters } from './read-query.ts'
import type { Match } from './routes.ts'

/**
 * A parameter of the query is named as it was sent. If the request has a JSON body, all other names are in camelCase, or
 * in snake_case if the body has a key in that spelling. Without a body, they are in snake_case, as in the documentation.
 */
export function fieldSpellingOf({ route, spelling }: Match): (path: string) => string {
  const { desc, resource } = route.endpoint.method
  const sent = sentNames(desc.input, spelling?.query ?? '')
  const isJson = spelling?.bodyNames === 'json'
  return (path) => {
    const [, base = '', index = ''] = /^(.*?)(\[.*)?$/s.exec(path) ?? []
    const name = sent.get(base)
    if (name !== undefined) return name + index
    return isJson ? jsonPathOf(resource?.message ?? desc.input, path) : path
  }
}

type Input = Match['route']['endpoint']['method']['desc']['input']

/** Maps the canonical path of a field to the name of the query parameter that sets the field. */
function sentNames(input: Input, query: string): Map<string, string> {
  const names = new Map<string, string>()
  try {
    for (const [name] of parameters(query)) {
      const path = resolvePath(input, name)
        ?.map((field) => field.name)
        .join('.')
      if (path !== undefined && !names.has(path)) names.set(path, name)
    }
  } catch {
    // The error about a malformed query names no field.
  }
  return names
}
