// The exchange over REST and gRPC. The bearer is not an access token of ours, so the corridor lets it through.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ExchangeRefreshTokenRequest, ExchangeRequest } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { RawTokenSchema, TokenPairSchema } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { unauthenticated } from '../aip/errors.ts'
import type { Reply } from '../wire/reply.ts'
import { messageReply } from '../wire/reply.ts'
import type { Exchange } from './exchange.ts'
import { narrowingAsked } from './narrowing.ts'
import type { RefreshTokens } from './refresh.ts'
import type { Throttle } from './throttle.ts'
import { guarded } from './throttle.ts'

/** What of a call this service needs. */
export type StsCall<Request> = { request: Request; authorization: string | undefined; address: string }

export type StsOptions = {
  exchange: Exchange
  refreshTokens: RefreshTokens
  isCapability(name: string): boolean
  throttle: Throttle
}

export function securityTokenService({ exchange, refreshTokens, isCapability, throttle }: StsOptions) {
  return {
    async exchange({ request, authorization, address }: StsCall<ExchangeRequest>): Promise<Reply> {
      const { identity, aud } = request
      const bearer = bearerOf(authorization)
      const asked = { identity, audiences: aud, narrowing: narrowingAsked(request, isCapability) }
      const { token, expiry } = await guarded(throttle, address, () => exchange(bearer, asked))
      return messageReply(RawTokenSchema, create(RawTokenSchema, { token, expiry: timestampFromMs(expiry) }))
    },

    async exchangeRefreshToken({
      request,
      authorization,
      address,
    }: StsCall<ExchangeRefreshTokenRequest>): Promise<Reply> {
      const narrowing = narrowingAsked(request, isCapability)
      const bearer = bearerOf(authorization)
      const use = () => refreshTokens.use(bearer, request.aud, narrowing)
      const { access, refresh } = await guarded(throttle, address, use)
      const raw = ({ token, expiry }: { token: string; expiry: number }) => ({
        token,
        expiry: timestampFromMs(expiry),
      })
      const pair = create(TokenPairSchema, { token: raw(access), refreshToken: raw(refresh) })
      return messageReply(TokenPairSchema, pair)
    },
  }
}

/** Any token, of whatever form, but one. */
export function bearerOf(authorization: string | undefined): string {
  const [, token] = /^Bearer +([!-~]{1,20000}) *$/i.exec(authorization ?? '') ?? []
  if (token === undefined)
    throw unauthenticated('this call needs the header Authorization: Bearer <token to exchange>')
  return token
}
