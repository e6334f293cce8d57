// Exchanges forged tokens for the identity of a well-behaved workload, from the address of that workload.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Attack } from './attack.ts'
import { addressOfClients } from './attack.ts'

/** Pause between two exchanges. It keeps their rate below the limit of the address, which the workload shares. */
const pauseMs = 40

export const failingExchanges: Attack = {
  parallel: 4,
  async round(target) {
    const { identity, authorization } = target.tenant.victim
    // The signature is cut off and replaced.
    const forged = `${authorization.slice(0, authorization.lastIndexOf('.'))}.${'A'.repeat(86)}`
    const body = JSON.stringify({ identity })
    const call = { method: 'POST', path: '/sts/exchange', headers: { authorization: forged }, body }
    await target.call(call, addressOfClients)
    await sleep(pauseMs)
  },
}
