// The server that is attacked: stemmad with its default limits, on a temporary store with some tenants.
import type { ForeignIssuer } from '../../e2e/sign-in/foreign-issuer.ts'
import { readConfig } from '../../server/config/config.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import type { Server } from '../load/processes.ts'
import { startServe, untilReady } from '../load/processes.ts'
import { temporarySettings } from '../stores/bench-server.ts'
import type { Caller } from './clients/caller.ts'
import { callersOf } from './clients/caller-list.ts'
import type { AttackerTenant } from './tenant.ts'
import { openTenants } from './tenants.ts'

export type SoakServer = {
  server: Server
  callers: Caller[]
  attackers: AttackerTenant
  end(): Promise<void>
}

export async function startSoakServer(issuer: ForeignIssuer, serverFlags: string[]): Promise<SoakServer> {
  const { settings, port, remove } = await temporarySettings([
    ...['--trusted-issuers', issuer.issuer, '--drain-delay', '0'],
    ...serverFlags,
  ])
  try {
    const { config } = readConfig({}, settings)
    const store = openStore(config)
    const { keys } = await prepareStore(config, store)
    const tenants = openTenants(store, config, keys)
    const workload = await tenants.addWorkload(issuer)
    const callers = await callersOf(tenants.addTenant, workload)
    const attackers = await tenants.addAttackers(workload)
    await store.close()
    const server = startServe('both-cores', ['serve', ...settings])
    const end = async () => {
      await server.stop()
      await remove()
    }
    await untilReady(port).catch(async (error) => {
      await end()
      throw error
    })
    return { server: { ...server, port }, callers, attackers, end }
  } catch (error) {
    await remove()
    throw error
  }
}
