// A platform for sign-in tests. Its base URL is its real address, because browsers follow redirects to it.

import { randomBytes } from 'node:crypto'
import { ensureVouchedAccount, setPassword } from '@stemma/server/auth/login/accounts.ts'
import { openPasswords } from '@stemma/server/auth/login/passwords.ts'
import { peopleOf } from '@stemma/server/authentication.ts'
import type { Log } from '@stemma/server/log.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { passwordCost, startPlatform } from '@stemma/server/testing/platform.ts'
import type { Engine } from '@stemma/server/testing/stores.ts'
import * as oidc from 'openid-client'
import { freePort } from '../../api/testing/free-port.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import type { Page } from './visitor.ts'
import { Visitor } from './visitor.ts'

export const password = 'correct horse battery staple'

export async function startSignInPlatform(
  engine: Engine,
  args: string[] = [],
  overrides: Parameters<typeof startPlatform>[2] = {},
  log?: Log,
): Promise<Platform> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  return startPlatform(engine, ['--port', String(port), '--base-url', url, ...args], overrides, log)
}

/** Adds a person with a password and returns their uid. */
export async function addAccount(platform: Platform, email: string): Promise<string> {
  const hash = await openPasswords(randomBytes, passwordCost).hash(password)
  return platform.store.write(function* () {
    const identity = yield* ensureVouchedAccount(
      peopleOf({ access: operatorAccess, now: Date.now, random: randomBytes }),
      platform.config.authUrl,
      email,
      Date.now(),
    )
    yield* setPassword(identity, hash, Date.now())
    return identity
  })
}

/** A sign-in that a program has started, and the state that the program keeps until the sign-in ends. */
export type StartedSignIn = { url: string; verifier: string; state: string; redirectUri: string }

const redirectUri = 'http://127.0.0.1:45678/callback'

export async function relyingParty(url: string): Promise<oidc.Configuration> {
  return oidc.discovery(new URL(url), 'stemma', {}, oidc.None(), { execute: [oidc.allowInsecureRequests] })
}

/** Starts a sign-in as a program does. The person opens `url` in a browser. */
export async function begin(
  party: oidc.Configuration,
  parameters: Record<string, string> = {},
): Promise<StartedSignIn> {
  const verifier = oidc.randomPKCECodeVerifier()
  const state = oidc.randomState()
  const url = oidc.buildAuthorizationUrl(party, {
    redirect_uri: redirectUri,
    scope: 'openid email profile offline_access',
    prompt: 'consent',
    state,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...parameters,
  })
  return { url: url.href, verifier, state, redirectUri }
}

/** Exchanges the authorization code in the URL of the page for tokens. */
export const redeem = (party: oidc.Configuration, { verifier, state }: StartedSignIn, page: Page) =>
  oidc.authorizationCodeGrant(party, new URL(page.url), { pkceCodeVerifier: verifier, expectedState: state })

/** Signs in with a password, in a new browser unless one is given. */
export async function signIn(
  platform: Platform,
  email: string,
  parameters: Record<string, string> = {},
  visitor = new Visitor(platform.url),
) {
  const party = await relyingParty(platform.url)
  const begun = await begin(party, parameters)
  const page = await visitor.open(begun.url)
  const end = await visitor.submit(page, { email, password })
  return { visitor, party, end, tokens: await redeem(party, begun, end) }
}
