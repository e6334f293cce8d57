// The exchange over REST and gRPC. The bearer is not an access token of ours, so the corridor lets it through.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ExchangeRefreshTokenRequest, ExchangeRequest } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { RawTokenSchema, TokenPairSchema } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import type { Narrowing } from '../aip/caller.ts'
import { invalidField, unauthenticated } from '../aip/errors.ts'
import { messageReply } from '../aip/message-reply.ts'
import type { Reply } from '../aip/passage.ts'
import { isUid } from '../aip/uid.ts'
import type { Exchange } from './exchange.ts'
import type { RefreshTokens } from './refresh.ts'

/** What of a call this service needs. */
type StsCall<Request> = { request: Request; authorization: string | undefined }

export type StsOptions = {
  exchange: Exchange
  refreshTokens: RefreshTokens
  isCapability(name: string): boolean
}

export function securityTokenService({ exchange, refreshTokens, isCapability }: StsOptions) {
  function narrowingOf({ scope, scopes, cap }: ExchangeRequest | ExchangeRefreshTokenRequest): Narrowing {
    const all = [...new Set([scope, ...scopes].filter(Boolean))]
    const wrong = all.find((one) => !isUid(one))
    if (wrong !== undefined) throw invalidField('scopes', 'must be uids of groups')
    const unknown = cap.find((name) => !isCapability(name))
    if (unknown !== undefined)
      throw invalidField(
        'cap',
        `must be names of capabilities such as groups.list, not ${JSON.stringify(unknown.slice(0, 40))}`,
      )
    return {
      ...(all.length > 0 && { scopes: all }),
      ...(cap.length > 0 && { capabilities: [...new Set(cap)] }),
    }
  }

  return {
    async exchange({ request, authorization }: StsCall<ExchangeRequest>): Promise<Reply> {
      const { identity, aud } = request
      const bearer = bearerOf(authorization)
      const { token, expiry } = await exchange(bearer, {
        identity,
        audiences: aud,
        narrowing: narrowingOf(request),
      })
      return messageReply(RawTokenSchema, create(RawTokenSchema, { token, expiry: timestampFromMs(expiry) }))
    },

    async exchangeRefreshToken({
      request,
      authorization,
    }: StsCall<ExchangeRefreshTokenRequest>): Promise<Reply> {
      const narrowing = narrowingOf(request)
      const { access, refresh } = await refreshTokens.use(bearerOf(authorization), request.aud, narrowing)
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
function bearerOf(authorization: string | undefined): string {
  const [, token] = /^Bearer +([!-~]{1,20000}) *$/i.exec(authorization ?? '') ?? []
  if (token === undefined)
    throw unauthenticated('this call needs the header Authorization: Bearer <token to exchange>')
  return token
}
