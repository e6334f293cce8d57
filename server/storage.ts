// The store that the settings name, with every kind that lies in it.
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { KeyRing } from './auth/keys.ts'
import { openKeyRing } from './auth/keys.ts'
import type { Config } from './config/config.ts'
import type { Secret } from './crypto/secret.ts'
import { makeSecret } from './crypto/secret.ts'
import { readSecretFile } from './crypto/secret-file.ts'
import type { Log } from './log.ts'
import { subscriptions } from './resources/events/subscriptions/table.ts'
import { accountAssociations } from './resources/iam/account-associations/table.ts'
import { groupAccessRequests } from './resources/iam/group-access-requests/table.ts'
import { groupInvites } from './resources/iam/group-invites/table.ts'
import { groups } from './resources/iam/groups/table.ts'
import { identities } from './resources/iam/identities/table.ts'
import { identityProviders } from './resources/iam/identity-providers/table.ts'
import { roleBindings } from './resources/iam/role-bindings/table.ts'
import { seedRoles } from './resources/iam/roles/built-in.ts'
import { roles } from './resources/iam/roles/table.ts'
import { repos } from './resources/registry/repos/table.ts'
import { tags } from './resources/registry/tags/table.ts'
import { rerenderRows } from './resources/rerender.ts'
import { reindexAdvisories } from './resources/vulnerabilities/advisories/reindex.ts'
import { advisories } from './resources/vulnerabilities/advisories/table.ts'
import type { Store } from './store/db.ts'
import { loadMigrations } from './store/migrate.ts'
import { openPostgres } from './store/postgres.ts'
import { openSqlite } from './store/sqlite.ts'

/** Those with a table, which are tallied. */
export const kinds = [
  groups,
  identities,
  roles,
  roleBindings,
  identityProviders,
  accountAssociations,
  groupInvites,
  groupAccessRequests,
  repos,
  tags,
  advisories,
  subscriptions,
]

/** The kinds whose rows are tallied. */
export const talliedKinds = kinds.map(({ table }) => table.name)

export function openStore(config: Config, log?: Log): Store {
  if (config.databaseUrl) {
    return openPostgres({
      url: config.databaseUrl,
      connections: config.databaseConnections,
      onIdleError: (err) => log?.warn({ err }, 'a connection to the store broke; it is replaced'),
    })
  }
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  return openSqlite(join(config.dataDir, 'stemma.db'))
}

/** Brings the store to the state that this program needs, and opens its keys. */
export async function prepareStore(
  config: Config,
  store: Store,
): Promise<{ keys: KeyRing; secret: Secret; applied: string[] }> {
  const applied = await store.migrate(await loadMigrations())
  for (const kind of kinds) await rerenderRows(store, kind)
  await reindexAdvisories(store)
  await seedRoles(store)
  const secret = makeSecret(config.secretKey ?? readSecretFile(config.dataDir, randomBytes), randomBytes)
  return { keys: await openKeyRing(store, secret), secret, applied }
}
