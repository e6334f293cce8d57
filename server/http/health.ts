// gRPC's own health service: load balancers and probes ask it whether to send calls here.
import type { Server } from '@grpc/grpc-js'
import { HealthImplementation } from 'grpc-health-check'

/** Answers what tells it whether these services are served. */
export function addHealth(server: Server, services: readonly string[]): (isServing: boolean) => void {
  const health = new HealthImplementation()
  health.addToServer(server)
  return (isServing) => {
    // Without a name, all of them are meant.
    for (const name of ['', ...services]) health.setStatus(name, isServing ? 'SERVING' : 'NOT_SERVING')
  }
}
