// Pipelined small requests, whose responses are read: unknown paths, requests without a token, health checks, and
// ordinary calls of a tenant.
import type { Attack, Target } from './attack.ts'
import { httpGet, written } from './sockets.ts'

const batchSize = 20

export const flood = (requestFor: (target: Target) => string): Attack => ({
  parallel: 12,
  async round(target) {
    const batch = requestFor(target).repeat(batchSize)
    const socket = await target.open()
    socket.resume()
    while (!socket.closed) {
      await target.take(batchSize)
      await written(socket, batch)
    }
  },
})

let lastMember = 0

/** A Get of the tenant's group, with the token of the next member each time. */
export function getOfTenant({ tenant }: Target): string {
  const member = tenant.members[++lastMember % tenant.members.length]
  return httpGet(`/iam/v2beta1/groups/${tenant.group}`, `Authorization: ${member}`)
}
