// The token endpoint of the registry: issues a short-lived token that is limited to what the client asks for and has.
import { create } from '@bufbuild/protobuf'
import type { IssueTokenRequest } from '@stemma/api/gen/platform/registry/content/token_pb.ts'
import { IssuedTokenSchema } from '@stemma/api/gen/platform/registry/content/token_pb.ts'
import { unauthenticated } from '../../aip/errors.ts'
import type { Caller } from '../../wire/caller.ts'
import { anonymous } from '../../wire/caller.ts'
import type { Reply } from '../../wire/reply.ts'
import { messageReply } from '../../wire/reply.ts'
import type { RepoAccess } from '../../wire/repo-access.ts'
import { repoActions } from '../../wire/repo-access.ts'
import { throttledExchange } from '../exchange/failed-exchanges.ts'
import type { OnIssued, OpenCall } from '../exchange/security-token-service.ts'
import type { RefreshTokens } from '../refresh/refresh-tokens.ts'
import type { Throttle } from '../throttle.ts'
import type { RegistryCredentials } from './authenticate.ts'
import { requireAudience, verifyCredentials } from './authenticate.ts'
import type { KnownCaller } from './known-caller.ts'
import type { RegistryTokenDependencies } from './registry-token.ts'
import { mintRegistryToken } from './registry-token.ts'

const lifetimeMs = 300_000
/** Clients treat shorter lifetimes as this one, in seconds. */
const minLifetime = 60

export type TokenServiceDependencies = RegistryCredentials &
  RegistryTokenDependencies & {
    refreshTokens: RefreshTokens
    throttle: Throttle
    onIssued: OnIssued
    allowsAnonymous: boolean
    /**
     * The part of `asked` that the caller has. Throws if the identity of the caller no longer exists, or its sign-in
     * was ended.
     */
    heldAccess(caller: Caller, asked: readonly RepoAccess[]): Promise<RepoAccess[]>
  }

type AuthenticatedCaller = KnownCaller & { refreshToken?: string }

export function registryTokenService(deps: TokenServiceDependencies) {
  const { now, heldAccess, onIssued } = deps
  return {
    async issueToken(call: OpenCall<IssueTokenRequest>): Promise<Reply> {
      const { request, authorization, address } = call
      const { caller, expires, refreshToken = '' } = await authenticate(deps, request, authorization, address)
      const access = await heldAccess(caller, request.scopes.map(accessOf))
      const issueTime = Math.floor(now() / 1000)
      const expiry = Math.floor(Math.min(now() + lifetimeMs, expires) / 1000)
      const issued = {
        ...{ access: access.map(({ name, actions }) => ({ name, actions: [...actions] })), refreshToken },
        token: await mintRegistryToken(deps, { caller, access, expires: expiry }),
        issueTime: BigInt(issueTime),
        expiresIn: Math.max(minLifetime, expiry - issueTime),
      }
      if (caller.identity !== '') onIssued(call, issued.token, 'issued')
      return messageReply(IssuedTokenSchema, create(IssuedTokenSchema, issued))
    },
  }
}

const accessOf = ({ name, actions }: IssueTokenRequest['scopes'][number]): RepoAccess => ({
  name,
  actions: repoActions.filter((action) => actions.includes(action)),
})

async function authenticate(
  deps: TokenServiceDependencies,
  { refreshToken }: IssueTokenRequest,
  authorization: string | undefined,
  address: string,
): Promise<AuthenticatedCaller> {
  if (refreshToken !== '') return refresh(deps, refreshToken, address)
  if (authorization !== undefined) return verifyCredentials(deps, authorization, address)
  if (!deps.allowsAnonymous) throw unauthenticated('this registry needs a user name and a password')
  return { caller: anonymous, expires: Number.POSITIVE_INFINITY }
}

/** The refresh token is replaced by its successor, as everywhere (refresh/refresh-tokens.ts). */
async function refresh(
  { refreshTokens, throttle, accessTokens, baseUrl }: TokenServiceDependencies,
  bearer: string,
  address: string,
): Promise<AuthenticatedCaller> {
  const run = () => refreshTokens.use(bearer, [], {}, (audience) => requireAudience(baseUrl, audience))
  const { access, refresh } = await throttledExchange(throttle, { address, bearer, identity: '' }, run)
  return { ...(await accessTokens.verify(`Bearer ${access.token}`)), refreshToken: refresh.token }
}
