// Everything that tells who somebody is, put together: the exchange, registration, and sign-in for people.
import { randomBytes } from 'node:crypto'
import type { CallAws } from './auth/exchange/aws-request.ts'
import { callAwsOverNetwork } from './auth/exchange/call-aws.ts'
import { openExchange } from './auth/exchange/exchange.ts'
import { securityTokenService } from './auth/exchange/security-token-service.ts'
import { openIssuerKeys } from './auth/foreign-tokens/issuer-keys.ts'
import type { KeyRing } from './auth/keys/key-ring.ts'
import { isSignIn, paths, prefixOf } from './auth/login/paths.ts'
import type { People } from './auth/login/people.ts'
import type { Profile } from './auth/login/provider.ts'
import { registrationCalls } from './auth/login/registration.ts'
import { forgetExpired, openStates } from './auth/login/states.ts'
import { fetchJsonBy } from './auth/outbound/fetch-json.ts'
import type { Outbound } from './auth/outbound/outbound.ts'
import { openOutbound } from './auth/outbound/outbound.ts'
import { openRefreshTokens } from './auth/refresh/refresh-tokens.ts'
import { openThrottle } from './auth/throttle.ts'
import { openVerifyOwn } from './auth/tokens/verify-own.ts'
import { issuerRuleOf } from './claims/issuer.ts'
import type { Config } from './config/config.ts'
import type { RandomBytes } from './crypto/random.ts'
import { pooled } from './crypto/random.ts'
import type { Secret } from './crypto/secret.ts'
import type { Mount } from './http/dispatch.ts'
import type { Log } from './log.ts'
import { capabilityNamed } from './policy/capabilities.ts'
import { acceptInvite, requireInvite } from './resources/iam/group-invites/accept.ts'
import { foundOrganization, makeOwner, nameFault } from './resources/iam/groups/organization.ts'
import { openLastSeen } from './resources/iam/identities/last-seen.ts'
import { identities } from './resources/iam/identities/table.ts'
import { comeByProvider, ensurePerson } from './resources/iam/people.ts'
import { messageOf } from './resources/kind.ts'
import type { Store } from './store/db.ts'
import { sql } from './store/sql.ts'

/** From one address in a minute, before it has to wait. */
const failedExchanges = 300

/** What may differ in tests. */
export type AuthenticationOverrides = {
  now?: () => number
  random?: RandomBytes
  outbound?: Outbound
  callAws?: CallAws
}

export type Authentication = ReturnType<typeof openAuthentication>

/** Everything that tells who somebody is: the exchange, registration, and sign-in for people. */
export function openAuthentication(
  config: Config,
  store: Store,
  keys: KeyRing,
  secret: Secret,
  log: Log,
  {
    now = Date.now,
    random = pooled(randomBytes),
    outbound = openOutbound(),
    callAws = callAwsOverNetwork,
  }: AuthenticationOverrides,
) {
  const { authUrl, baseUrl } = config
  const rule = issuerRuleOf(config)
  const shared = { store, keys, secret, authUrl, baseUrl, rule, now, random }
  const onSeen = openLastSeen(store, now, (err) => log.warn({ err }, 'a sighting was not noted'))
  const issuerKeys = openIssuerKeys(fetchJsonBy(outbound), rule, now)
  const verifyOwn = openVerifyOwn(shared)
  const exchange = openExchange({ ...shared, verifyOwn, issuerKeys, onSeen, callAws })
  const refreshTokens = openRefreshTokens(shared)
  const isCapability = (name: string) => capabilityNamed(name) !== undefined
  const throttle = openThrottle(failedExchanges, 60_000, now)
  const states = openStates(secret, now)
  const people = peopleOf(now)
  const tokens = { exchange, refreshTokens, isCapability, throttle }
  const openLogin = async () => {
    // Most servers are never asked for it, and it takes a tenth of a second and 30 MB.
    const login = await import('./auth/login/login.ts')
    return login.openLogin({
      ...{ ...shared, ...tokens, states, people, onSeen, reach: outbound },
      findPerson: (identity) => findPerson(store, identity),
      note: (event, words) => log.info(event, words),
      onError: (err) => log.error({ err }, 'sign-in failed'),
    })
  }
  return {
    sts: securityTokenService(tokens),
    registration: registrationCalls({ ...shared, states, people, verifyOwn, issuerKeys, throttle }),
    login: mountBelow(authUrl, openLogin),
    states,
  }
}

/** Paths of sign-in below the auth URL. What answers them is opened when it is first asked for. */
function mountBelow(authUrl: string, open: () => Promise<Mount['handle']>): Mount {
  const prefix = prefixOf(authUrl)
  // An issuer with a path has its metadata also where RFC 8414 puts it: before the path.
  const metadata = paths.serverMetadata + prefix
  const below = (path: string) => (path === metadata ? paths.serverMetadata : path.slice(prefix.length))
  let opened: Promise<Mount['handle']> | undefined
  return {
    isFor: (path) => path === metadata || (path.startsWith(prefix) && isSignIn(below(path))),
    async handle(request, response, { path, ...rest }) {
      opened ??= open().catch((error: unknown) => {
        opened = undefined
        throw error
      })
      await (await opened)(request, response, { path: below(path), ...rest })
    },
  }
}

/** What sign-in and the operator do with people, in the tree. */
export function peopleOf(now: () => number): People {
  const setting = { now, random: randomBytes }
  return {
    ensure: (person) => ensurePerson(setting, person),
    comeBy: (provider, identity) => comeByProvider(setting, provider, identity),
    requireInvite: (code, email) => requireInvite(setting, code, email),
    acceptInvite: (code, guest) => acceptInvite(setting, code, guest),
    *found(name, owner) {
      const organization = yield* foundOrganization(setting, name)
      yield* makeOwner(setting, organization, owner)
      return organization
    },
    nameFault,
  }
}

async function findPerson(store: Store, uid: string): Promise<Profile | undefined> {
  const [row] = await store.query(sql`select proto from identities where uid = ${uid}`)
  if (!row) return undefined
  const { name, email } = messageOf(identities, row[0] as Uint8Array)
  return { name, email }
}

/** Forgets what has expired, now and then. Answers what stops it. */
export function tendStates(store: Store, now: () => number, log: Log): () => void {
  const tend = async () => {
    while (await store.write(() => forgetExpired(now())));
  }
  const timer = setInterval(() => {
    tend().catch((err) => log.warn({ err }, 'what has expired could not be removed'))
  }, 60_000).unref()
  return () => clearInterval(timer)
}
