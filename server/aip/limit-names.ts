// Names of parameters that look like a limit of a token. The token exchange ignores unknown parameters, but if the name
// of a limit is misspelt, it must not issue a token without that limit.
import { nearestNames } from '@stemma/api/nearest-names.ts'

const limitNames = ['scope', 'scopes', 'capability', 'capabilities']

/** Whether an unknown parameter may be meant as `scope`, `scopes` or `cap`. */
export function resemblesLimit(name: string): boolean {
  const letters = name
    .slice(0, 100)
    .toLowerCase()
    .replace(/[^a-z]/g, '')
  return /scope|^caps?$|^capab/.test(letters) || nearestNames(letters, limitNames).length > 0
}
