import type { ServiceDefinition } from '@grpc/grpc-js'

export const asIs = (bytes: Buffer) => bytes

/** A service with one unary method, named `call`, whose messages are not decoded. */
export function grpcDefinition(path: string): ServiceDefinition {
  return {
    call: {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    },
  }
}
