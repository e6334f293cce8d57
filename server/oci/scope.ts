// Scopes of the registry's token protocol: `repository:NAME:pull,push`. The type ends at the
// first colon and the actions begin after the last one, because the protocol lets the name begin
// with a host and a port. This registry has no such names.
import type { RepoAccess } from '../wire/repo-access.ts'
import { repoActions } from '../wire/repo-access.ts'
import { isRepoName } from './route.ts'

/** More than enough: one operation needs at most two, for its source and its target. */
const maxScopes = 20

/**
 * Reads the `scope` parameters of a token request. Each may contain several scopes, separated by spaces. Scopes that
 * this registry does not know, such as `registry:catalog:*`, grant nothing and are left out, as the protocol demands.
 */
export function readScopes(parameters: readonly string[]): RepoAccess[] {
  const texts = parameters.flatMap((parameter) => parameter.split(' ', maxScopes * 2))
  const scopes = texts.flatMap((text) => readScope(text) ?? [])
  return scopes.slice(0, maxScopes)
}

function readScope(text: string): RepoAccess | undefined {
  const [start, end] = [text.indexOf(':'), text.lastIndexOf(':')]
  const name = text.slice(start + 1, end)
  if (text.slice(0, start) !== 'repository' || end <= start || !isRepoName(name)) return undefined
  const asked = new Set(text.slice(end + 1).split(','))
  const actions = repoActions.filter((action) => asked.has(action) || asked.has('*'))
  return actions.length > 0 ? { name, actions } : undefined
}

export const scopeText = ({ name, actions }: RepoAccess): string => `repository:${name}:${actions.join(',')}`
