// An attack is a round that is repeated until the run is over, several times in parallel.
import type { Socket } from 'node:net'
import type { RestCall } from '../clients/rest-call.ts'
import type { AttackerTenant } from '../tenant.ts'

export type Target = {
  port: number
  tenant: AttackerTenant
  /** Waits until so many further requests are due. All attacks that wait share twice the capacity of the server. */
  due(requests: number): Promise<void>
  /** Counts requests that were sent. */
  sent(requests?: number): void
  /** The next address of the network of this attack. */
  nextAddress(): string
  /** Opens a connection from the next address. */
  open(): Promise<Socket>
  /**
   * Sends a request, counts it, and reads the response. With an address, the connection is a new one from there;
   * without, all calls share connections from one address.
   */
  call(call: RestCall, address?: string): Promise<void>
}

export type Attack = { parallel: number; round(target: Target): Promise<void> }

/** The address of the well-behaved clients, for attackers who share it. */
export const addressOfClients = '127.0.0.1'

/** How long a connection that neither side closes is kept. */
export const holdMs = 20_000
