// An attack repeats a round until the run is over, in several loops that run in parallel.
import type { Socket } from 'node:net'
import type { RestCall } from '../clients/rest-call.ts'
import type { AttackerTenant } from '../tenant.ts'

export type Target = {
  port: number
  tenant: AttackerTenant
  /** Waits until this many requests may be sent, and counts them. All attacks share one budget. */
  take(requests: number): Promise<void>
  /** The next address of the network of this attack. */
  nextAddress(): string
  /** Opens a connection from the next address. */
  open(): Promise<Socket>
  /**
   * Sends a request, counts it, and reads the response. With `address`, opens a new connection from that
   * address; without it, all calls share connections from one address.
   */
  call(call: RestCall, address?: string): Promise<void>
}

export type Attack = { parallel: number; round(target: Target): Promise<void> }

/** The address of the well-behaved clients, for attackers who share it. */
export const addressOfClients = '127.0.0.1'

/** How long an attack keeps a connection open if the server does not close it. */
export const holdMs = 20_000
