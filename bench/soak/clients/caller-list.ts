// The well-behaved clients. Their rates are far below the default limits of one caller.
import type { Tenant, Workload } from '../tenant.ts'
import type { Caller } from './caller.ts'
import { grpcCalls } from './grpc-calls.ts'
import { restCalls } from './rest-calls.ts'

/** Calls per second of one client. */
const rates = { get: 50, list: 20, create: 20, exchange: 20, getOnNewConnection: 20 }

export async function callersOf(
  addTenant: (name: string) => Promise<Tenant>,
  workload: Workload,
): Promise<Caller[]> {
  const callers: Caller[] = []
  const exchanges = [restCalls.exchange(workload), grpcCalls.exchange(workload)]
  for (const [at, [door, calls]] of Object.entries({ REST: restCalls, gRPC: grpcCalls }).entries()) {
    for (const name of ['get', 'list', 'create'] as const) {
      const call = calls[name](await addTenant(`${name}-over-${door}`))
      callers.push({ name: `${name}, ${door}`, perSecond: rates[name], call })
    }
    const call = exchanges[at]
    if (call) callers.push({ name: `exchange, ${door}`, perSecond: rates.exchange, call })
  }
  const get = restCalls.get(await addTenant('get-on-new-connections'))
  const call = { ...get, opensConnectionPerCall: true }
  const perSecond = rates.getOnNewConnection
  return [...callers, { name: 'get, REST, new connections', perSecond, call }]
}
