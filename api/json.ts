// The SDK with plain JSON, `@stemma/api/json`: small, for browsers. Services are in `@stemma/api/json/platform/…`.
export type {
  DeepPartial,
  JsonClient as Client,
  JsonStreamCall as StreamCall,
  JsonUnaryCall as UnaryCall,
} from './client/json-client.ts'
export { createClient } from './client/json-client.ts'
export type { Item, ListCall } from './client/list.ts'
export { list } from './client/list.ts'
export type { CallOptions, ConnectionOptions } from './client/options.ts'
export type { RetryOptions } from './client/retry.ts'
export type { FieldViolation, PreconditionViolation } from './client/stemma-error.ts'
export { StemmaError } from './client/stemma-error.ts'
export type { ExchangeOptions, Issuer } from './client/token-exchange.ts'
export { exchangeTokenSource } from './client/token-exchange.ts'
export type { RefreshOptions } from './client/token-refresh.ts'
export { refreshTokenSource } from './client/token-refresh.ts'
export type { AccessToken, TokenSource } from './client/token-source.ts'
export { cachedTokenSource } from './client/token-source.ts'
export type { Warning } from './client/warnings.ts'
export { readWarnings } from './client/warnings.ts'
export { Code } from './gen/google/rpc/code_pb.ts'
