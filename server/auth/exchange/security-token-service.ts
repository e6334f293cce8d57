// The token exchange over REST and gRPC. Its calls are open: they need no access token of this server, so the corridor
// passes the Authorization header on unchecked.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ExchangeRefreshTokenRequest, ExchangeRequest } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { RawTokenSchema, TokenPairSchema } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { unauthenticated } from '../../aip/errors.ts'
import type { Reply } from '../../wire/reply.ts'
import { messageReply } from '../../wire/reply.ts'
import type { RefreshTokens } from '../refresh/refresh-tokens.ts'
import type { Throttle } from '../throttle.ts'
import { requestedLimits } from '../tokens/token-limits.ts'
import type { Exchange, IssuedToken } from './exchange.ts'
import { throttledExchange } from './failed-exchanges.ts'

/** A call that needs no access token of this server. */
export type OpenCall<Request> = { request: Request; authorization: string | undefined; address: string }

export type StsDependencies = {
  exchange: Exchange
  refreshTokens: RefreshTokens
  isCapability(name: string): boolean
  throttle: Throttle
  onIssued: OnIssued
}

/** Called after a token was issued, for the event log. */
export type OnIssued = (
  call: OpenCall<unknown>,
  token: string,
  action: 'exchanged' | 'refreshed' | 'issued',
) => void

export function securityTokenService(deps: StsDependencies) {
  const { exchange, refreshTokens, isCapability, throttle, onIssued } = deps
  return {
    async exchange(call: OpenCall<ExchangeRequest>): Promise<Reply> {
      const { request, authorization, address } = call
      const { identity, identityProvider, aud: audiences } = request
      const bearer = bearerOf(authorization)
      const limits = requestedLimits(request, isCapability)
      const run = () => exchange(bearer, { identity, identityProvider, audiences, limits })
      const issued = await throttledExchange(throttle, { address, bearer, identity }, run)
      onIssued(call, issued.token, 'exchanged')
      return messageReply(RawTokenSchema, create(RawTokenSchema, rawToken(issued)))
    },

    async exchangeRefreshToken(call: OpenCall<ExchangeRefreshTokenRequest>): Promise<Reply> {
      const { request, authorization, address } = call
      const limits = requestedLimits(request, isCapability)
      const bearer = bearerOf(authorization)
      const run = () => refreshTokens.use(bearer, request.aud, limits)
      const { access, refresh } = await throttledExchange(throttle, { address, bearer, identity: '' }, run)
      onIssued(call, access.token, 'refreshed')
      const pair = { token: rawToken(access), refreshToken: rawToken(refresh) }
      return messageReply(TokenPairSchema, create(TokenPairSchema, pair))
    },
  }
}

const rawToken = ({ token, expiry }: IssuedToken) => ({ token, expiry: timestampFromMs(expiry) })

/** The bearer token of a header. The token can have any format. */
export function bearerOf(authorization: string | undefined): string {
  const [, token] = /^Bearer +([!-~]{1,20000}) *$/i.exec(authorization ?? '') ?? []
  if (token === undefined)
    throw unauthenticated('this call needs the header Authorization: Bearer <token to exchange>')
  return token
}
