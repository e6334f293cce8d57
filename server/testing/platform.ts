// A whole platform on a temporary store and a free port, with an organization and its owner.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { newChildUid, newRootUid } from '../aip/uid.ts'
import type { App, Overrides } from '../app.ts'
import { startApp } from '../app.ts'
import type { KeyRing } from '../auth/keys.ts'
import { mintToken } from '../auth/tokens.ts'
import { makeOrganization } from '../commands/bootstrap.ts'
import type { Config } from '../config/config.ts'
import { readConfig } from '../config/config.ts'
import type { Secret } from '../crypto/secret.ts'
import type { Log } from '../log.ts'
import { openLog } from '../log.ts'
import { builtInRole } from '../policy/built-in-roles.ts'
import { createEntry } from '../resources/create.ts'
import { removeEntry } from '../resources/delete.ts'
import { identities } from '../resources/iam/identities/table.ts'
import { roleBindings } from '../resources/iam/role-bindings/table.ts'
import { roles } from '../resources/iam/roles/table.ts'
import { openStore, prepareStore } from '../storage.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { createDatabase } from './postgres.ts'

export type Engine = 'sqlite' | 'postgres'

export type Person = { organization: string; identity: string; token: string }

export type Platform = {
  engine: Engine
  app: App
  config: Config
  /** Where it listens, with the real port. */
  url: string
  /** A second opening of the same store, as another process would have it. */
  store: Store
  keys: KeyRing
  secret: Secret
  owner: Person
  /** Another organization and its owner. */
  found(name: string): Promise<Person>
  /** An identity in a group, bound to a built-in role there or elsewhere. */
  addIdentity(group: string, role?: string, place?: string): Promise<Person>
  /** A person with a verified address. */
  addUser(email: string): Promise<Person>
  /** Binds an identity to a built-in role in a group. */
  bind(identity: string, role: string, group: string): Promise<void>
  /** An identity in a group, bound there to a role of its own that holds these capabilities. */
  addRole(group: string, capabilities: (keyof typeof Capability)[]): Promise<Person & { role: string }>
  /** Takes all roles from an identity, and the identity itself if asked to. */
  revoke(identity: string, isDeleted?: boolean): Promise<void>
  /** Takes the roles that an identity has in one group. */
  revokeIn(identity: string, group: string): Promise<void>
  tokenOf(identity: string, now?: number): Promise<string>
  stop(): Promise<void>
}

const clusterUrl = process.env.STEMMA_TEST_POSTGRES

/** The same tests on both stores; says so where one of them is not there. */
export function onEachStore(name: string, tests: (engine: Engine) => void): void {
  describe(`${name} (SQLite)`, () => tests('sqlite'))
  const skip = clusterUrl ? false : 'PostgreSQL is not running: STEMMA_TEST_POSTGRES is not set'
  describe(`${name} (PostgreSQL)`, { skip }, () => tests('postgres'))
}

/** An empty store of an engine and what removes it. */
export async function temporaryStore(
  engine: Engine,
): Promise<{ settings: string[]; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'stemma-test-'))
  const removeFolder = () => rm(folder, { recursive: true, force: true })
  if (engine === 'sqlite') return { settings: ['--data-dir', folder], remove: removeFolder }
  const database = await createDatabase(clusterUrl ?? '')
  const secret = 'a secret key that is only used in tests'
  return {
    settings: ['--data-dir', folder, '--database-url', database.url, '--secret-key', secret],
    async remove() {
      await database.drop()
      await removeFolder()
    },
  }
}

export async function startPlatform(
  engine: Engine,
  args: string[] = [],
  overrides: Overrides = {},
  log?: Log,
): Promise<Platform> {
  const place = await temporaryStore(engine)
  const fixed = [
    '--port',
    '0',
    '--base-url',
    'http://stemma.test',
    '--log-level',
    'silent',
    '--drain-delay',
    '0',
  ]
  const { config } = readConfig({}, [...place.settings, ...fixed, ...args])
  const app = await startApp(config, log ?? openLog(config.logLevel), overrides)
  const store = openStore(config)
  const { keys, secret } = await prepareStore(config, store)
  const parties = { issuer: config.authUrl, audience: config.baseUrl }
  const now = overrides.now ?? Date.now

  // Lists by uid come in the same order in every run: what is founded stands before all that is made by calls, and
  // what is added here stands behind it.
  const aWhile = 100
  const last = 2 ** 30 - 1
  const tokenOf = (identity: string, at = now()) => mintToken(keys, parties, identity, at)

  async function found(name: string): Promise<Person> {
    const { organization, identity } = await makeOrganization(
      store,
      config,
      name,
      undefined,
      () => now() - aWhile,
    )
    return { organization, identity, token: await tokenOf(identity) }
  }

  function bind(identityUid: string, role: string, group: string): Promise<void> {
    const binding = create(RoleBindingSchema, { identityUid, roleUid: builtInRole(role).uid })
    const facts = { uid: newChildUid(group, last, randomBytes), now: now() }
    return store.write(() => createEntry(roleBindings, binding, facts))
  }

  async function addIdentity(group: string, role?: string, at = group): Promise<Person> {
    const identity = await store.write(function* () {
      const uid = group === '' ? newRootUid(randomBytes) : newChildUid(group, last, randomBytes)
      yield* createEntry(identities, create(IdentitySchema, { name: 'test' }), { uid, now: now() })
      return uid
    })
    if (role !== undefined) await bind(identity, role, at)
    return { organization: group, identity, token: await tokenOf(identity) }
  }

  async function addUser(email: string): Promise<Person> {
    const uid = newRootUid(randomBytes)
    const draft = create(IdentitySchema, { name: email, email })
    await store.write(() => createEntry(identities, draft, { uid, now: now() }))
    return { organization: '', identity: uid, token: await tokenOf(uid) }
  }

  async function addRole(group: string, capabilities: (keyof typeof Capability)[]) {
    const person = await addIdentity(group)
    const role = newChildUid(group, last, randomBytes)
    const numbers = capabilities.map((name) => Capability[name])
    await store.write(function* () {
      const draft = create(RoleSchema, { name: `test ${role.slice(-16)}`, capabilities: numbers })
      yield* createEntry(roles, draft, { uid: role, now: now() })
      const binding = create(RoleBindingSchema, { identityUid: person.identity, roleUid: role })
      yield* createEntry(roleBindings, binding, {
        uid: newChildUid(group, last, randomBytes),
        now: now(),
      })
    })
    return { ...person, role }
  }

  function revoke(identity: string, isDeleted = false): Promise<void> {
    return store.write(function* () {
      const bindings = yield sql`select uid from role_bindings where identity = ${identity}`
      for (const [uid] of bindings) yield* removeEntry(roleBindings, uid as string)
      if (isDeleted) yield* removeEntry(identities, identity)
    })
  }

  function revokeIn(identity: string, group: string): Promise<void> {
    return store.write(function* () {
      const bindings =
        yield sql`select uid from role_bindings where identity = ${identity} and parent = ${group}`
      for (const [uid] of bindings) yield* removeEntry(roleBindings, uid as string)
    })
  }

  const scheme = config.tls ? 'https' : 'http'
  return {
    ...{
      engine,
      app,
      config,
      store,
      keys,
      secret,
      found,
      addIdentity,
      addUser,
      bind,
      addRole,
      revoke,
      revokeIn,
      tokenOf,
    },
    url: `${scheme}://127.0.0.1:${app.port}`,
    owner: await found('acme'),
    async stop() {
      await app.stop(true)
      await store.close()
      await place.remove()
    },
  }
}
