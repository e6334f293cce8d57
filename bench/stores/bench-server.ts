// A store with an organization, its owner and some groups, and a server on it.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../api/testing/free-port.ts'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import { makeOrganization } from '../../server/commands/make-organization.ts'
import { readConfig } from '../../server/config/config.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import type { Store } from '../../server/store/db.ts'
import type { Cores } from '../load/cores.ts'
import type { Server } from '../load/processes.ts'
import { startStemmad } from '../load/processes.ts'
import { treeBelow } from './tree.ts'

/** Disposing of it calls `end`. */
export type BenchServer = AsyncDisposable & {
  server: Server
  organization: string
  /** The group created last: two levels below the organization, or one if it is the only group. */
  group: string
  authorization: string
  /** The Authorization header of another identity. */
  authorizationOf(identity: string): Promise<string>
  end(): Promise<void>
}

/** Adds further rows to the store before the server starts. */
export type Fill = (store: Store, organization: string) => Promise<unknown>

/** `extraSettings` are further flags of stemmad, such as those of PostgreSQL. For `sourceFlags` see `startStemmad`. */
export async function startBenchServer(
  groupCount: number,
  extraSettings: string[] = [],
  fill?: Fill,
  cores?: Cores,
  sourceFlags?: string[],
): Promise<BenchServer> {
  await using cleanup = new AsyncDisposableStack()
  const { settings, port, remove } = await temporarySettings(extraSettings)
  cleanup.defer(remove)
  const { config } = readConfig({}, settings)
  const store = openStore(config)
  const { keys } = await prepareStore(config, store)
  const { organization, identity } = await makeOrganization(
    { store, authUrl: config.authUrl, now: Date.now, random: randomBytes },
    'bench',
  )
  const group = await createGroups(store, organization, groupCount)
  await fill?.(store, organization)
  const signer = { keys, authUrl: config.authUrl, now: Date.now, random: randomBytes }
  const authorizationOf = async (uid: string) =>
    `Bearer ${await mintToken(signer, { identity: uid, audience: config.baseUrl })}`
  const authorization = await authorizationOf(identity)
  await store.close()
  const server = cleanup.use(await startStemmad(settings, port, cores, sourceFlags))
  const opened = cleanup.move()
  const end = () => opened.disposeAsync()
  return {
    ...{ server, organization, group, authorization, authorizationOf },
    ...{ end, [Symbol.asyncDispose]: end },
  }
}

export async function temporarySettings(extraSettings: string[] = []) {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-bench-'))
  const port = await freePort()
  return {
    port,
    settings: ['--port', String(port), '--data-dir', folder, ...extraSettings],
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Returns the group created last. */
export function createGroups(store: Store, organization: string, count: number): Promise<string> {
  return store.write(function* () {
    let last = organization
    for (const { uid, group } of treeBelow(organization, count)) {
      yield* createEntry(operatorAccess, groups, group, { uid, now: Date.now() })
      last = uid
    }
    return last
  })
}
