// Sign-in of published clients of this API. They open `/oauth` in a browser and receive the token in a URL on the
// person's machine, or fetch it if they run on another machine. The sign-in pages are the same as for other clients.
import { digestOf } from '../../../crypto/digest.ts'
import { rememberBrowser } from '../browser.ts'
import { requireHeadlessCode } from '../headless-sessions.ts'
import type { PageRequest, PageResponse } from '../page-request.ts'
import { paths } from '../paths.ts'
import { publishedClient } from '../provider/clients.ts'
import type { ClientRequest } from './client-request.ts'
import { requestLifetimeMs, sealRequest } from './client-request.ts'
import type { PublishedDependencies } from './dependencies.ts'
import { requireLoopbackRedirect } from './redirect.ts'

/** Parameters that are passed on to the authorization request as they are. */
const forwardedParameters = ['idp_id', 'invite', 'headless_code', 'skip_registration', 'login_hint']

export async function startPublished(deps: PublishedDependencies, page: PageRequest): Promise<PageResponse> {
  const { authUrl } = deps
  const { query } = page
  const clientRequest = readClientRequest(deps, page)
  const parameters = new URLSearchParams([
    ['client_id', publishedClient],
    ['response_type', 'code'],
    ['scope', 'openid'],
    ['redirect_uri', authUrl + paths.publishedReturn],
    ['state', sealRequest(deps, clientRequest)],
    ['code_challenge', digestOf(clientRequest.verifier)],
    ['code_challenge_method', 'S256'],
    // A person who is already signed in must confirm.
    ['prompt', 'consent'],
    ...forwardedParameters.flatMap((name): [string, string][] => {
      const value = query.get(name)
      return value ? [[name, value]] : []
    }),
  ])
  return { location: `${authUrl}${paths.authorization}?${parameters}` }
}

function readClientRequest(deps: PublishedDependencies, page: PageRequest): ClientRequest {
  const { now, random } = deps
  const { query } = page
  const headlessCode = query.get('headless_code') ?? ''
  const redirect = query.get('redirect') ?? ''
  if (headlessCode !== '') requireHeadlessCode(headlessCode)
  else requireLoopbackRedirect(query.get('exit'), redirect)
  return {
    ...{ redirect, headlessCode, expires: now() + requestLifetimeMs },
    browser: rememberBrowser(deps, page),
    verifier: random(32).toString('base64url'),
    identity: query.get('identity') ?? '',
    audiences: (query.get('audience') ?? '').split(',').filter(Boolean),
    scopes: query.getAll('scope').map(unescapeOnce),
    wantsRefreshToken: query.get('create_refresh_token') === 'true',
  }
}

/** Published clients escape scopes twice. */
function unescapeOnce(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
