// The exchange over REST and gRPC. The bearer is not an access token of ours, so the corridor lets it through.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ExchangeRefreshTokenRequest, ExchangeRequest } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { RawTokenSchema, TokenPairSchema } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import type { Narrowing } from '../aip/caller.ts'
import { Code } from '../aip/code.ts'
import { invalidField, StatusError, unauthenticated } from '../aip/errors.ts'
import { messageReply } from '../aip/message-reply.ts'
import type { Reply } from '../aip/passage.ts'
import { isUid } from '../aip/uid.ts'
import type { Exchange } from './exchange.ts'
import type { RefreshTokens } from './refresh.ts'
import type { Throttle } from './throttle.ts'

/** What of a call this service needs. */
type StsCall<Request> = { request: Request; authorization: string | undefined; address: string }

export type StsOptions = {
  exchange: Exchange
  refreshTokens: RefreshTokens
  isCapability(name: string): boolean
  throttle: Throttle
}

export function securityTokenService({ exchange, refreshTokens, isCapability, throttle }: StsOptions) {
  /** A token that is refused counts against where it came from. */
  async function guarded<T>(address: string, attempt: () => Promise<T>): Promise<T> {
    throttle.require(address)
    try {
      return await attempt()
    } catch (error) {
      if (error instanceof StatusError && isRefusal(error)) throttle.fail(address)
      throw error
    }
  }

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
    async exchange({ request, authorization, address }: StsCall<ExchangeRequest>): Promise<Reply> {
      const { identity, aud } = request
      const bearer = bearerOf(authorization)
      const asked = { identity, audiences: aud, narrowing: narrowingOf(request) }
      const { token, expiry } = await guarded(address, () => exchange(bearer, asked))
      return messageReply(RawTokenSchema, create(RawTokenSchema, { token, expiry: timestampFromMs(expiry) }))
    },

    async exchangeRefreshToken({
      request,
      authorization,
      address,
    }: StsCall<ExchangeRefreshTokenRequest>): Promise<Reply> {
      const narrowing = narrowingOf(request)
      const bearer = bearerOf(authorization)
      const use = () => refreshTokens.use(bearer, request.aud, narrowing)
      const { access, refresh } = await guarded(address, use)
      const raw = ({ token, expiry }: { token: string; expiry: number }) => ({
        token,
        expiry: timestampFromMs(expiry),
      })
      const pair = create(TokenPairSchema, { token: raw(access), refreshToken: raw(refresh) })
      return messageReply(TokenPairSchema, pair)
    },
  }
}

const isRefusal = ({ code }: StatusError) => code === Code.UNAUTHENTICATED || code === Code.PERMISSION_DENIED

/** Any token, of whatever form, but one. */
function bearerOf(authorization: string | undefined): string {
  const [, token] = /^Bearer +([!-~]{1,20000}) *$/i.exec(authorization ?? '') ?? []
  if (token === undefined)
    throw unauthenticated('this call needs the header Authorization: Bearer <token to exchange>')
  return token
}
