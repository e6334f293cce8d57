// The token endpoint, where clients get a token for some actions in some repos. With GET, credentials are in the
// Authorization header; with POST, in a form (the Docker Registry token and OAuth 2 specifications).
import type { IssuedToken } from '@stemma/api/gen/platform/registry/content/token_pb.ts'
import { RegistryTokens } from '@stemma/api/gen/platform/registry/content/token_pb.ts'
import { Code } from '../aip/code.ts'
import { registryError } from '../aip/registry-error.ts'
import type { RepoAccess, RepoAction } from '../wire/repo-access.ts'
import { call } from './call.ts'
import type { EndpointHandler, Exchange, RegistryDependencies, RegistryResponse } from './door-context.ts'
import { readBody } from './read-body.ts'
import { readScopes, scopeText } from './scope.ts'

/** A password may be a token of 16 KiB, and a form may encode each of its characters as three. */
const maxFormBytes = 64 * 1024

export const getToken: EndpointHandler = (deps, exchange) =>
  issue(deps, exchange, exchange.query.getAll('scope'), '')

export const postToken: EndpointHandler = async (deps, exchange) => {
  const form = await readForm(deps, exchange)
  const scopes = form.getAll('scope')
  switch (form.get('grant_type')) {
    case 'password': {
      const user = required(form, 'username')
      if (user.includes(':')) throw invalid('username must not contain a colon')
      const credentials = `${user}:${required(form, 'password')}`
      const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
      const envelope = { ...exchange.envelope, authorization }
      return issue(deps, { ...exchange, envelope }, scopes, '')
    }
    case 'refresh_token':
      return issue(deps, exchange, scopes, required(form, 'refresh_token'))
    default:
      throw invalid('grant_type must be password or refresh_token')
  }
}

async function issue(
  deps: RegistryDependencies,
  exchange: Exchange,
  scopes: readonly string[],
  refreshToken: string,
): Promise<RegistryResponse> {
  const asked = readScopes(scopes).map(({ name, actions }) => ({ name, actions: [...actions] }))
  const issued = await call(deps, exchange, RegistryTokens.method.issueToken, () => ({
    ...{ scopes: asked, refreshToken },
  }))
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify(bodyOf(issued)),
  }
}

/** Some clients read `token`, others `access_token`. */
const bodyOf = ({ token, expiresIn, issueTime, access, refreshToken }: IssuedToken) => ({
  ...{ token, access_token: token, token_type: 'Bearer', expires_in: expiresIn },
  issued_at: new Date(Number(issueTime) * 1000).toISOString(),
  // The cast is safe: `issueToken` returns only actions of the type RepoAction.
  scope: access
    .map(({ name, actions }): RepoAccess => ({ name, actions: actions as RepoAction[] }))
    .map(scopeText)
    .join(' '),
  ...(refreshToken !== '' && { refresh_token: refreshToken }),
})

async function readForm(deps: RegistryDependencies, exchange: Exchange): Promise<URLSearchParams> {
  const [type = ''] = (exchange.request.headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw invalid('the body must be a form: application/x-www-form-urlencoded')
  return new URLSearchParams((await readBody(deps, exchange, maxFormBytes, 'the form')).toString())
}

function required(form: URLSearchParams, name: string): string {
  const value = form.get(name) ?? ''
  if (value === '') throw invalid(`${name} is required`)
  return value
}

const invalid = (text: string) => registryError('UNSUPPORTED', Code.INVALID_ARGUMENT, text)
