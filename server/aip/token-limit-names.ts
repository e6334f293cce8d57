// Recognises misspelt names of the parameters that limit a token (`scope`, `scopes`, `cap`). The token exchange ignores
// other unknown parameters, but must not ignore a limit and issue a token without it.
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
