// Organizations, identities and role bindings for tests, written directly to the store.
//
// The last segment of a uid starts with the time, and tests compare lists that are ordered by uid. To make that order
// the same in every run, the owner of a new organization and the owner's role binding get a time shortly before the
// calls of the test. Other identities, roles and role bindings get the latest possible time. Groups
// get the current time.
import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { newChildUid, newRootUid } from '../aip/uid.ts'
import type { KeyRing } from '../auth/keys/key-ring.ts'
import { newSignIn } from '../auth/sign-outs.ts'
import { mintToken } from '../auth/tokens/mint.ts'
import { makeOrganization } from '../commands/make-organization.ts'
import type { Config } from '../config/config.ts'
import { builtInRole } from '../policy/built-in-roles.ts'
import { operatorAccess } from '../policy/system-access.ts'
import { createEntry } from '../resources/create.ts'
import { removeEntry } from '../resources/delete.ts'
import { groups } from '../resources/iam/groups/table.ts'
import { identities } from '../resources/iam/identities/table.ts'
import { roleBindings } from '../resources/iam/role-bindings/table.ts'
import { roles } from '../resources/iam/roles/table.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'

export type TestIdentity = {
  /** The uid of the group that the identity is in, usually an organization; empty for a person. */
  organization: string
  /** The uid of the identity. */
  identity: string
  token: string
}

/** `role` is the name of a built-in role. */
export type TestBinding = { identity: string; role: string }

export type CapabilityName = keyof typeof Capability

export type TestIdentities = {
  /** A new organization; the identity is its owner. */
  addOrganization(name: string): Promise<TestIdentity>
  /**
   * A new identity in a group, or in no group if `group` is empty, as for a person. With `role`, it is bound to this
   * built-in role, in the same group or in `roleGroup`.
   */
  addIdentity(group: string, role?: string, roleGroup?: string): Promise<TestIdentity>
  /** A new identity in a group, bound there to a custom role with exactly these capabilities. */
  addIdentityWith(group: string, capabilities: CapabilityName[]): Promise<TestIdentity & { role: string }>
  /** A person with a verified e-mail address. */
  addUser(email: string): Promise<TestIdentity>
  /** A new group in which identities are bound to built-in roles, written in one transaction. Returns its uid. */
  addGroup(parent: string, name: string, bindings?: readonly TestBinding[]): Promise<string>
  /** Binds an identity to a built-in role in a group. */
  bind(identity: string, role: string, group: string): Promise<void>
  /** Deletes the role bindings of an identity, in one group or in all. */
  unbind(identity: string, group?: string): Promise<void>
  /** Deletes an identity and its role bindings. */
  deleteIdentity(identity: string): Promise<void>
  tokenOf(identity: string, now?: number): Promise<string>
}

type Dependencies = { store: Store; config: Config; keys: KeyRing; now(): number }

/** Two uids created this far apart differ in their time part (see aip/uid.ts). */
const uidTimeStepMs = 100
/** Uids created at this time have the time part ffffff. */
const latestUidTime = 2 ** 30 - 1

const lastChildUid = (parent: string) => newChildUid(parent, latestUidTime, randomBytes)

export function openTestIdentities(deps: Dependencies): TestIdentities {
  const { store, config, keys, now } = deps
  const tokenOf = async (identity: string, at = now()) =>
    mintToken(
      { keys, authUrl: config.authUrl, now: () => at, random: randomBytes },
      { identity, audience: config.baseUrl, signIn: await newSignIn(store, identity, at) },
    )
  const withToken = async (organization: string, identity: string): Promise<TestIdentity> => ({
    ...{ organization, identity, token: await tokenOf(identity) },
  })

  return {
    tokenOf,
    async addOrganization(name) {
      const earlier = () => now() - uidTimeStepMs
      const { organization, identity } = await makeOrganization(
        { store, authUrl: config.authUrl, now: earlier, random: randomBytes },
        name,
      )
      return withToken(organization, identity)
    },
    async addIdentity(group, role, roleGroup = group) {
      const uid = await store.write(() => createIdentity(group, now()))
      if (role !== undefined) await store.write(() => bindTo(builtInRole(role).uid, uid, roleGroup, now()))
      return withToken(group, uid)
    },
    async addIdentityWith(group, capabilities) {
      const uid = await store.write(() => createIdentity(group, now()))
      const role = await store.write(() => createRole(group, capabilities, now()))
      await store.write(() => bindTo(role, uid, group, now()))
      return { ...(await withToken(group, uid)), role }
    },
    async addUser(email) {
      const uid = newRootUid(randomBytes)
      const user = create(IdentitySchema, { name: email, email })
      await store.write(() => createEntry(operatorAccess, identities, user, { uid, now: now() }))
      return withToken('', uid)
    },
    addGroup: (parent, name, bindings = []) =>
      store.write(function* () {
        const time = now()
        const uid = newChildUid(parent, time, randomBytes)
        yield* createEntry(operatorAccess, groups, create(GroupSchema, { name }), { uid, now: time })
        for (const { identity, role } of bindings) yield* bindTo(builtInRole(role).uid, identity, uid, time)
        return uid
      }),
    bind: (identity, role, group) => store.write(() => bindTo(builtInRole(role).uid, identity, group, now())),
    unbind: (identity, group) => store.write(() => deleteBindings(identity, group)),
    deleteIdentity: (identity) =>
      store.write(function* () {
        yield* deleteBindings(identity)
        yield* removeEntry(operatorAccess, identities, identity)
      }),
  }
}

function* createIdentity(group: string, now: number): Work<string> {
  const uid = group === '' ? newRootUid(randomBytes) : lastChildUid(group)
  yield* createEntry(operatorAccess, identities, create(IdentitySchema, { name: 'test' }), { uid, now })
  return uid
}

function* createRole(group: string, capabilities: CapabilityName[], now: number): Work<string> {
  const uid = lastChildUid(group)
  const numbers = capabilities.map((name) => Capability[name])
  const role = create(RoleSchema, { name: `test ${uid.slice(-16)}`, capabilities: numbers })
  yield* createEntry(operatorAccess, roles, role, { uid, now })
  return uid
}

function* bindTo(role: string, identity: string, group: string, now: number): Work<void> {
  const columns = { identity, role }
  yield* createEntry(operatorAccess, roleBindings, create(RoleBindingSchema), {
    uid: lastChildUid(group),
    now,
    columns,
  })
}

function* deleteBindings(identity: string, group?: string): Work<void> {
  const bindings = yield sql`select uid, parent from role_bindings where identity = ${identity}`
  for (const [uid, parent] of bindings)
    if (group === undefined || parent === group)
      yield* removeEntry(operatorAccess, roleBindings, uid as string)
}
