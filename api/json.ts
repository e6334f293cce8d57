// The SDK with plain JSON, which needs no messages and is small: for browsers. Routes of services are in gen.
export type { FieldViolation, Precondition } from './client/errors.ts'
export { StemmaError } from './client/errors.ts'
export type {
  JsonClient as Client,
  JsonStreamCall as StreamCall,
  JsonUnaryCall as UnaryCall,
} from './client/json-client.ts'
export { createClient } from './client/json-client.ts'
export { list } from './client/list.ts'
export type { Retry } from './client/retry.ts'
export { exchanging, refreshing, remembering } from './client/tokens.ts'
export type { CallOptions, ConnectionOptions, TokenSource } from './client/transport.ts'
export { Code } from './gen/google/rpc/code_pb.ts'
