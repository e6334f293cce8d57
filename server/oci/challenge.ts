// The challenge of the registry's token protocol: where a client gets a token, and which access it asks for.
import type { StatusError } from '../aip/errors.ts'
import type { RepoAccess } from '../wire/repo-access.ts'
import { tokenPath } from './route.ts'
import { scopeText } from './scope.ts'

/**
 * Names of repos contain no character that would end a quoted value (`isRepoName`). A client that has sent credentials
 * needs the error of RFC 6750, section 3.1: containerd then asks for a new token, and stops if that is refused as well.
 */
export function bearerChallenge(
  baseUrl: string,
  scopes: readonly RepoAccess[],
  { headers }: StatusError,
  hasCredentials: boolean,
): string {
  const [, error = 'insufficient_scope'] = /error="([a-z_]+)"/.exec(headers['www-authenticate'] ?? '') ?? []
  const parameters = {
    realm: `${baseUrl}${tokenPath}`,
    service: new URL(baseUrl).host,
    ...(scopes.length > 0 && { scope: scopes.map(scopeText).join(' ') }),
    ...(hasCredentials && { error }),
  }
  const quoted = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`)
  return `Bearer ${quoted.join(',')}`
}

/** The challenge of the token endpoint itself. */
export const basicChallenge = (baseUrl: string): string => `Basic realm="${baseUrl}", charset="UTF-8"`
