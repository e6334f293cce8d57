// Sign-in as published clients of this API do it: the token comes back in the address of a page on the machine
// of the person, or, for a program elsewhere, waits for it. Behind it is the same sign-in as everybody's.
import { randomBytes } from 'node:crypto'
import type { Provider } from 'oidc-provider'
import * as oidc from 'openid-client'
import { Code } from '../../aip/code.ts'
import { invalidField, StatusError } from '../../aip/errors.ts'
import { isUid } from '../../aip/uid.ts'
import { isLoopback } from '../../claims/issuer.ts'
import { digestOf, equalInConstantTime } from '../../crypto/digest.ts'
import type { RandomBytes } from '../../crypto/random.ts'
import type { Secret } from '../../crypto/secret.ts'
import { openText, sealText } from '../../crypto/secret.ts'
import { html } from '../../pages/html.ts'
import type { Store } from '../../store/db.ts'
import { sql } from '../../store/sql.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { RefreshTokens } from '../refresh/refresh-tokens.ts'
import { mintToken } from '../tokens/mint.ts'
import { requestedNarrowing } from '../tokens/narrowing.ts'
import { encryptFor, leaveFor, requireCode } from './headless.ts'
import { paths } from './paths.ts'
import { publishedClient } from './provider.ts'
import { notRegistered } from './sign-in.ts'
import type { States } from './states.ts'
import type { Upstream } from './upstream.ts'
import type { Answer, Visit } from './visit.ts'
import { expired, wordsOf } from './visit.ts'

export type PublishedOptions = {
  provider(): Provider
  store: Store
  states: States
  secret: Secret
  keys: KeyRing
  exchange: Exchange
  refreshTokens: RefreshTokens
  upstream: Upstream
  authUrl: string
  baseUrl: string
  now(): number
  random: RandomBytes
}

/** What the client asked for. It travels with the browser, sealed, and is good in that browser only. */
type Asked = {
  redirect: string
  headlessCode: string
  identity: string
  audiences: string[]
  scopes: string[]
  isRefreshed: boolean
  browser: string
  /** Proves that a code is of this very sign-in. */
  verifier: string
  expires: number
}

const purpose = 'sign-in of a published client'
const cookie = 'stemma_published'
const patience = 60 * 60_000
/** A token that is only exchanged for another need not live for long. */
const passing = 15 * 60

export function openPublished(options: PublishedOptions) {
  const { provider, store, states, secret, exchange, refreshTokens, upstream, authUrl, baseUrl, now } =
    options

  async function start({ query, request }: Visit): Promise<Answer> {
    const headlessCode = query.get('headless_code') ?? ''
    const redirect = query.get('redirect') ?? ''
    if (headlessCode !== '') requireCode(headlessCode)
    else requireLoopback(query.get('exit'), redirect)
    const browser = cookieOf(request.headers.cookie) ?? randomBytes(16).toString('base64url')
    const verifier = oidc.randomPKCECodeVerifier()
    const asked: Asked = {
      ...{ redirect, headlessCode, verifier, browser: digestOf(browser), expires: now() + patience },
      identity: query.get('identity') ?? '',
      audiences: (query.get('audience') ?? '').split(',').filter(Boolean),
      scopes: query.getAll('scope').map(unescapeOnce),
      isRefreshed: query.get('create_refresh_token') === 'true',
    }
    const passedOn = ['idp_id', 'invite', 'headless_code', 'skip_registration', 'login_hint'].flatMap(
      (name) => {
        const value = query.get(name)
        return value ? [[name, value] as [string, string]] : []
      },
    )
    const parameters = new URLSearchParams([
      ['client_id', publishedClient],
      ['response_type', 'code'],
      ['scope', 'openid'],
      ['redirect_uri', authUrl + paths.publishedReturn],
      ['state', sealText(secret, purpose, JSON.stringify(asked))],
      ['code_challenge', digestOf(verifier)],
      ['code_challenge_method', 'S256'],
      // Whoever is signed in already is asked whether they want this.
      ['prompt', 'consent'],
      ...passedOn,
    ])
    const isSecure = authUrl.startsWith('https:') ? '; Secure' : ''
    return {
      location: `${authUrl}${paths.authorization}?${parameters}`,
      headers: {
        'set-cookie': `${cookie}=${browser}; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600${isSecure}`,
      },
    }
  }

  async function finish({ query, request }: Visit): Promise<Answer> {
    const asked = askedOf(query.get('state') ?? '', cookieOf(request.headers.cookie))
    try {
      const identity = await whoCameBack(query, asked)
      return await (asked.headlessCode === '' ? hand(asked, identity) : leave(asked, identity))
    } catch (error) {
      if (!(error instanceof StatusError) || asked.headlessCode !== '') throw error
      return {
        location: withAnswer(asked.redirect, { error: wordsOf(error), status_code: String(error.http) }),
      }
    }
  }

  /** The code is redeemed here and now; it never leaves this server but in the browser that brings it. */
  async function whoCameBack(query: URLSearchParams, { verifier }: Asked): Promise<string> {
    const error = query.get('error')
    if (error !== null) {
      const code = error === notRegistered ? Code.NOT_FOUND : Code.PERMISSION_DENIED
      throw new StatusError(code, query.get('error_description') ?? error)
    }
    const code = await provider().AuthorizationCode.find(query.get('code') ?? '')
    const isOurs = code?.clientId === publishedClient && code.codeChallenge === digestOf(verifier)
    if (!code?.accountId || !isOurs || !code.isValid) throw expired()
    await code.consume().catch(() => {
      throw expired()
    })
    return code.accountId
  }

  async function hand(asked: Asked, identity: string): Promise<Answer> {
    const { token, refresh } = await tokensFor(asked, identity)
    const answer = { token, ...(refresh && { refresh_token: refresh }) }
    return { location: withAnswer(asked.redirect, answer) }
  }

  async function tokensFor({ identity: wanted, audiences, scopes, isRefreshed }: Asked, identity: string) {
    const uids = await Promise.all(scopes.map((scope) => groupNamed(scope, identity)))
    const narrowing = requestedNarrowing({ scopes: uids, cap: [] }, () => true)
    const own = await mintToken(options, { identity, audience: authUrl })
    const { token } = await exchange(own, { identity: wanted, audiences, narrowing })
    const isOwn = wanted === '' || wanted === identity
    // A refresh token is of a person and of all that they hold.
    const isWhole = isRefreshed && isOwn && uids.length === 0
    const refresh = isWhole ? (await refreshTokens.issue(identity, audiences[0] ?? baseUrl)).token : undefined
    return { token, refresh }
  }

  /** A group by its uid, or by its name where the person has a role in exactly one of that name. */
  async function groupNamed(scope: string, identity: string): Promise<string> {
    if (isUid(scope)) return scope
    const rows =
      await store.query(sql`select distinct g.uid from role_bindings b join groups g on g.uid = b.parent
      where b.identity = ${identity} and g.name = ${scope} limit 2`)
    const [only, other] = rows
    if (!only || other) throw invalidField('scope', 'must be the uid of a group, or a name that tells it')
    return only[0] as string
  }

  async function leave({ headlessCode }: Asked, identity: string): Promise<Answer> {
    const expires = Math.floor(now() / 1000) + passing
    const own = await mintToken(options, { identity, audience: authUrl, expires })
    await store.write(() => leaveFor(states, headlessCode, encryptFor(headlessCode, own), identity))
    return {
      title: 'You are signed in',
      body: html`<p>You can close this window and go back to the program.</p>`,
    }
  }

  function askedOf(state: string, browser: string | undefined): Asked {
    try {
      const asked = JSON.parse(openText(secret, purpose, state)) as Asked
      if (
        browser !== undefined &&
        equalInConstantTime(asked.browser, digestOf(browser)) &&
        asked.expires > now()
      )
        return asked
    } catch {
      throw expired()
    }
    throw expired()
  }

  async function check({ query }: Visit): Promise<Answer> {
    const name = query.get('name') ?? ''
    if (!/^[^\p{C}]{1,255}$/u.test(name)) throw invalidField('name', 'must be the name of an organization')
    return { json: await upstream.isOffered(name) }
  }

  return { start, finish, check }
}

/** Tokens in addresses go to the machine of the person, and nowhere else. */
function requireLoopback(exit: string | null, redirect: string): void {
  if (exit !== 'redirect') throw invalidField('exit', 'must be redirect')
  const url = URL.canParse(redirect) ? new URL(redirect) : undefined
  const isPlain = url?.protocol === 'http:' && url.username === '' && url.password === '' && url.hash === ''
  if (!url || !isLoopback(url) || !isPlain)
    throw invalidField(
      'redirect',
      'must be an http address of this machine, such as http://localhost:8085/callback',
    )
}

/** The address bears the names of what may come, with something in their place. */
function withAnswer(redirect: string, answer: Record<string, string>): string {
  const url = new URL(redirect)
  for (const name of ['token', 'refresh_token', 'error', 'status_code']) url.searchParams.delete(name)
  for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value)
  return url.href
}

/** Clients escape it once more than they need to. */
function unescapeOnce(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const cookieOf = (header = '') => new RegExp(`(?:^|; *)${cookie}=([\\w-]{22})(?:;|$)`).exec(header)?.[1]
