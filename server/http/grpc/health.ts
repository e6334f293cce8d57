// The health service of gRPC, which load balancers and probes call.
import type { Server } from '@grpc/grpc-js'
import { HealthImplementation } from 'grpc-health-check'

/** Returns the function that sets whether the services are served. */
export function addHealth(server: Server, services: readonly string[]): (isServing: boolean) => void {
  const health = new HealthImplementation()
  health.addToServer(server)
  return (isServing) => {
    // The empty name stands for the whole server.
    for (const name of ['', ...services]) health.setStatus(name, isServing ? 'SERVING' : 'NOT_SERVING')
  }
}
