import type { ServiceDefinition } from '@grpc/grpc-js'

export const asIs = (bytes: Buffer) => bytes

/** One unary method, named `call`, whose messages are raw bytes. */
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
