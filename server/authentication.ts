// Composition of authentication: the token exchange, registration, and sign-in for people.

import type { DescService } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { Code } from './aip/code.ts'
import { StatusError } from './aip/errors.ts'
import { parentOf } from './aip/uid.ts'
import type { AccountDependencies } from './auth/account/account-call.ts'
import { openAssume } from './auth/exchange/assume.ts'
import type { CallAws } from './auth/exchange/aws-request.ts'
import { callAwsOverNetwork } from './auth/exchange/call-aws.ts'
import { openExchange } from './auth/exchange/exchange.ts'
import type { OnIssued } from './auth/exchange/security-token-service.ts'
import { securityTokenService } from './auth/exchange/security-token-service.ts'
import { openIssuerKeys } from './auth/foreign-tokens/issuer-keys.ts'
import type { KeyRing } from './auth/keys/key-ring.ts'
import { uidOf } from './auth/login/choose-provider.ts'
import { deleteExpired, openExpiringStates } from './auth/login/expiring-states.ts'
import type { LoginDependencies } from './auth/login/login.ts'
import type { PageLogDependencies } from './auth/login/page-log.ts'
import type { PasswordCost, UsePasswords } from './auth/login/passwords.ts'
import { isConsoleSessionPath, isSignInPath, paths } from './auth/login/paths.ts'
import type { People, Profile } from './auth/login/people.ts'
import { idTokenClients } from './auth/login/provider/clients.ts'
import { registrationCalls } from './auth/login/registration/registration.ts'
import { openSignInThrottles } from './auth/login/sign-in-throttles.ts'
import { fetchJsonBy } from './auth/outbound/fetch-json.ts'
import type { Outbound } from './auth/outbound/outbound.ts'
import { openOutbound } from './auth/outbound/outbound.ts'
import { openRefreshTokens } from './auth/refresh/refresh-tokens.ts'
import type { HeldAccess } from './auth/registry/registry-authentication.ts'
import { openRegistryAuthentication } from './auth/registry/registry-authentication.ts'
import { relyingPartyOf } from './auth/second-factors/webauthn.ts'
import { openThrottle } from './auth/throttle.ts'
import { issuableAudiences, tokenLifetimeSeconds } from './auth/tokens/mint.ts'
import { openVerifyOwn } from './auth/tokens/verify-own.ts'
import { issuerRuleOf } from './claims/issuer.ts'
import type { RunMatch } from './claims/matcher.ts'
import type { Config } from './config/config.ts'
import type { RandomBytes } from './crypto/random.ts'
import type { Secret } from './crypto/secret.ts'
import type { Mount } from './http/dispatch.ts'
import { lazily } from './lazily.ts'
import type { SignInLimits } from './limits/rate/call-limits.ts'
import type { Log } from './log.ts'
import { prefixOf } from './pages/url-prefix.ts'
import type { Demand } from './policy/admit.ts'
import { admitToWrite } from './policy/admit.ts'
import { capabilityNamed } from './policy/capabilities.ts'
import { requireFreshSignIn } from './policy/fresh-sign-in.ts'
import { isHeldBy } from './policy/held-by.ts'
import { signInAccess } from './policy/system-access.ts'
import type { GroupLimits, WriteContext } from './resources/dependencies.ts'
import { acceptInvite } from './resources/iam/group-invites/accept.ts'
import { describeInvite } from './resources/iam/group-invites/describe.ts'
import { openLastSeen } from './resources/iam/identities/last-seen.ts'
import { identities } from './resources/iam/identities/table.ts'
import { bindOwner, createOrganization, nameFault } from './resources/iam/organization.ts'
import { ensurePerson, grantDefaultRole, renamePerson, replaceGroups } from './resources/iam/people.ts'
import { messageOf } from './resources/kind.ts'
import { removePerson } from './resources/remove-person.ts'
import type { Call, Handler } from './rpc/call.ts'
import type { RefusalLog } from './rpc/refusal-log.ts'
import { linkPerson, requireProvisioned, suspendNewPerson } from './scim/users/access.ts'
import { refusingProviders } from './scim/users/refusing-providers.ts'
import type { Store } from './store/db.ts'
import { sql } from './store/sql.ts'
import type { Work } from './store/work.ts'
import type { Person } from './wire/person.ts'
import type { Reply } from './wire/reply.ts'

/** How many exchanges of one network, issuer and identity may fail in a minute. Further failures get the status 429. */
const defaultMaxFailedExchanges = 300
const failurePeriodMs = 60_000

export type AuthenticationDependencies = {
  config: Config
  defaultLimits: GroupLimits['defaults']
  store: Store
  keys: KeyRing
  secret: Secret
  log: Log
  refusals: RefusalLog
  limits: SignInLimits
  now(): number
  random: RandomBytes
  runMatch: RunMatch
  heldAccess: HeldAccess
  onIssued: OnIssued
  /** The event log. */
  events: Omit<PageLogDependencies, 'now' | 'random'>
}

/** Replaced in tests. */
export type AuthenticationOverrides = {
  outbound?: Outbound
  callAws?: CallAws
  passwordCost?: PasswordCost
  devicePollSeconds?: number
  maxFailedExchanges?: number
}

export type Authentication = ReturnType<typeof openAuthentication>

export function openAuthentication(
  {
    config,
    store,
    keys,
    secret,
    log,
    refusals,
    limits,
    defaultLimits,
    now,
    random,
    runMatch,
    heldAccess,
    onIssued,
    events,
  }: AuthenticationDependencies,
  {
    outbound = openOutbound(),
    callAws = callAwsOverNetwork,
    passwordCost,
    devicePollSeconds,
    maxFailedExchanges = defaultMaxFailedExchanges,
  }: AuthenticationOverrides = {},
) {
  const { authUrl, baseUrl } = config
  const rule = issuerRuleOf(config)
  const access = signInAccess(defaultLimits)
  const shared = { store, keys, secret, authUrl, baseUrl, rule, now, random }
  const recordLastSeen = openLastSeen({
    ...{ store, now, access },
    onError: (err) => log.warn({ err }, 'the last seen time of an identity was not stored'),
  })
  const issuerKeys = openIssuerKeys(fetchJsonBy(outbound), rule, now)
  // A token for the registry alone cannot be exchanged, but can be revoked.
  const verifyOwn = openVerifyOwn({ ...shared, audiences: [baseUrl, authUrl], clients: idTokenClients })
  const verifyForAnyAudience = openVerifyOwn({ ...shared, audiences: issuableAudiences(baseUrl, authUrl) })
  const states = openExpiringStates(shared)
  const people = peopleOf({ access, now, random })
  const assume = openAssume({
    ...{ ...shared, verifyOwn, issuerKeys, people, recordLastSeen, callAws, runMatch },
    admit: limits.exchange,
  })
  const tokens = {
    assume,
    exchange: openExchange({ ...shared, assume }),
    refreshTokens: openRefreshTokens(shared),
    isCapability: (name: string) => capabilityNamed(name) !== undefined,
    throttle: openThrottle(maxFailedExchanges, failurePeriodMs, now),
    onIssued,
  }
  const throttles = openSignInThrottles(now)
  // Sign-ins and account calls share the limits on the computation of hashes.
  const loadPasswords = lazily(async () => {
    const { limitPasswords, openPasswords } = await import('./auth/login/passwords.ts')
    return limitPasswords(openPasswords(random, passwordCost))
  })
  const openLogin = async () => {
    // Not loaded at the start: it takes 0.1 s and 15 MB, and an idle server does not need it
    // (load-in-advance.ts).
    const login = await import('./auth/login/login.ts')
    return login.openLogin({
      ...{
        ...shared,
        ...tokens,
        states,
        throttles,
        people,
        outbound,
        recordLastSeen,
        usePasswords: await loadPasswords(),
        devicePollSeconds,
        verifyForAnyAudience,
        events,
      },
      admit: limits.request,
      findPerson: (identity) => findPerson(store, identity),
      mayChangeProvider: async (identity, provider) =>
        store.read(() => isHeldBy(identity, Capability.CAP_IAM_IDENTITY_PROVIDERS_UPDATE, provider, now())),
      ...loginLogOf(log, refusals),
    })
  }
  return {
    sts: securityTokenService(tokens),
    registry: openRegistryAuthentication({
      ...{ ...shared, ...tokens, heldAccess },
      allowsAnonymous: config.publicRepos,
    }),
    registration: registrationCalls({ ...shared, ...tokens, states, people, verifyOwn, issuerKeys }),
    account: accountMethods({ ...shared, states, throttles }, config, loadPasswords),
    login: mountBelow(authUrl, openLogin),
    states,
  }
}

function loginLogOf(
  log: Log,
  refusals: RefusalLog,
): Pick<LoginDependencies, 'log' | 'logRefusal' | 'onDisconnect' | 'onError'> {
  return {
    log: (event, message) => log.info(event, message),
    logRefusal: (event, message) => {
      if (refusals.admit(event.address, message)) log.info(event, message)
    },
    onDisconnect: (err) => log.debug({ err }, 'client disconnected'),
    onError: (err) => log.error({ err }, 'sign-in failed'),
  }
}

function accountMethods(
  deps: Omit<AccountDependencies<Demand>, 'usePasswords' | 'party' | 'admit' | 'rename'>,
  { authUrl, baseUrl, freshSignInMs }: Config,
  loadPasswords: () => Promise<UsePasswords>,
): Record<string, Handler> {
  return lazyMethods(AccountService, async () => {
    const { accountCalls } = await import('./auth/account/account-calls.ts')
    return accountCalls({
      ...{ ...deps, usePasswords: await loadPasswords() },
      party: relyingPartyOf(authUrl, baseUrl),
      admit: (demand: Demand, { freshSignIn }) =>
        admitPerson(demand, freshSignIn ? freshSignInMs : undefined),
      rename: (access, identity, name) => renamePerson({ access, now: deps.now }, identity, name),
    })
  })
}

/** Admits a person with an unlimited token. With `maxAgeMs`, their sign-in must be younger. */
function* admitPerson(demand: Demand, maxAgeMs: number | undefined) {
  const { fault } = demand
  // Wrong values are reported only to a person.
  const access = yield* admitToWrite({ ...demand, fault: undefined })
  const { identity, limits: tokenLimits, signIn } = access.caller
  // A token of an identity that the person has assumed does not count as their own.
  const isPerson = parentOf(identity) === '' && (signIn === undefined || signIn.person === identity)
  if (!isPerson || tokenLimits)
    throw new StatusError(
      Code.PERMISSION_DENIED,
      'only a person can call this, for their own account, with a token that is not limited',
    )
  if (fault) throw fault
  if (maxAgeMs !== undefined) requireFreshSignIn(access.caller, maxAgeMs, demand.now())
  return access
}

/** The methods of a service whose code is loaded at the first call. */
function lazyMethods(
  { methods }: DescService,
  open: () => Promise<Record<string, (call: never) => Promise<Reply>>>,
): Record<string, Handler> {
  const openOnce = lazily(open)
  const call = async (name: string, received: Call<never>) => {
    const handler = (await openOnce())[name]
    if (!handler) throw new Error(`${name} is not implemented`)
    return handler(received as never) // `name` selects the handler for this type of call
  }
  return Object.fromEntries(
    methods.map(({ localName }) => [localName, (received: Call<never>) => call(localName, received)]),
  )
}

/**
 * The paths of sign-in below the auth URL, and those of console sessions. Their handler is opened by the first request or
 * by `load`.
 */
function mountBelow(authUrl: string, open: () => Promise<Mount['handle']>): Mount {
  const prefix = prefixOf(authUrl)
  // If the issuer has a path, the path of its metadata precedes that path (RFC 8414, 3.1).
  const metadataPath = paths.serverMetadata + prefix
  const withoutPrefix = (path: string) =>
    path === metadataPath
      ? paths.serverMetadata
      : isConsoleSessionPath(path)
        ? path
        : path.slice(prefix.length)
  const load = lazily(open)
  return {
    isFor: (path) =>
      path === metadataPath ||
      isConsoleSessionPath(path) ||
      (path.startsWith(prefix) && isSignInPath(withoutPrefix(path))),
    load,
    async handle(request, response, { path, ...rest }) {
      const handle = await load()
      await handle(request, response, { path: withoutPrefix(path), ...rest })
    },
  }
}

/** The changes to resources that sign-in and the operator's commands make. */
export function peopleOf(context: WriteContext): People {
  function* ensure(person: Person): Work<string> {
    const { uid, isNew } = yield* ensurePerson(context, person)
    if (isNew) yield* suspendNewPerson(uid, person, context.now())
    return uid
  }
  return {
    ensure,
    *ensureProvided({ person, provider, externalId }) {
      yield* requireProvisioned(provider, externalId)
      return yield* ensure(person)
    },
    *ensureSignedIn({ person, provider, externalId }) {
      const user = yield* requireProvisioned(provider, externalId)
      const identity = yield* ensure(person)
      if (user !== undefined) yield* linkPerson(provider, user, identity, context.now())
      return identity
    },
    *refusingProviders(candidates, issuedAt) {
      const [first] = candidates
      if (!first) return []
      const providers = candidates.map(({ provider }) => provider)
      return yield* refusingProviders(providers, { ...first, identity: uidOf(first), issuedAt })
    },
    grantDefaultRole: (provider, identity) => grantDefaultRole(context, provider, identity),
    replaceGroups: (provider, identity, groupIds) =>
      replaceGroups(provider, identity, groupIds, context.now() + tokenLifetimeSeconds * 1000),
    describeInvite,
    acceptInvite: (code, guest) => acceptInvite(context, code, guest),
    *createOrganization(name, owner) {
      const organization = yield* createOrganization(context, name)
      yield* bindOwner(context, organization, owner)
      return organization
    },
    remove: removePerson,
    organizationNameFault: nameFault,
  }
}

async function findPerson(store: Store, uid: string): Promise<Profile | undefined> {
  const [row] = await store.query(sql`select proto from identities where uid = ${uid}`)
  if (!row) return undefined
  const { name, email } = messageOf(identities, row[0] as Uint8Array)
  return { name, email }
}

const sweepIntervalMs = 60_000

/** Deletes expired sign-in states, tokens, idempotency keys and memberships every minute. Returns a function that stops it. */
export function sweepExpiredStates(store: Store, now: () => number, log: Log): () => void {
  const sweep = async () => {
    while (await store.write(() => deleteExpired(now())));
  }
  const timer = setInterval(() => {
    sweep().catch((err) => log.warn({ err }, 'expired rows could not be deleted'))
  }, sweepIntervalMs).unref()
  return () => clearInterval(timer)
}
