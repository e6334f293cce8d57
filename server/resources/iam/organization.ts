// Creates organizations, and checks who may create them.
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { permissionDenied } from '../../aip/errors.ts'
import { newRootUid, parentOf } from '../../aip/uid.ts'
import { violationsOf } from '../../aip/validate.ts'
import { builtInRole } from '../../policy/built-in-roles.ts'
import { capabilityNamed, nameOf } from '../../policy/capabilities.ts'
import type { Grants } from '../../policy/grants.ts'
import { missingAt } from '../../policy/grants.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import { createEntry } from '../create.ts'
import type { Settings, WriteContext } from '../dependencies.ts'
import { bindRole } from './binding.ts'
import { groups } from './groups/table.ts'

/**
 * Unless the setting is `nobody`, people may create organizations, and so may the founders: the
 * owners that `stemmad bootstrap` creates. With the setting `anyone`, workloads that own an
 * organization may do so, too. A token that is limited to groups or capabilities cannot be used for
 * it. `grants` are all grants of the caller.
 */
export function* requireMayCreateOrganizations(
  { organizationCreation }: Pick<Settings, 'organizationCreation'>,
  grants: Grants,
): Work<void> {
  const { identity, limits } = grants.caller
  const denied = () => permissionDenied(nameOf(Capability.CAP_IAM_GROUPS_CREATE), '')
  if (organizationCreation === 'nobody' || limits) throw denied()
  const isPerson = parentOf(identity) === ''
  if (isPerson || (organizationCreation === 'anyone' && ownsOrganization(grants))) return
  const founder = yield* first(sql`select identity from founders where identity = ${identity}`)
  if (!founder) throw denied()
}

/** Whether a caller has all capabilities of the role `owner` in an organization. */
function ownsOrganization(grants: Grants): boolean {
  const { capabilities } = builtInRole('owner')
  const ownerBits = new Set(capabilities.flatMap((name) => capabilityNamed(name)?.bit ?? []))
  const organizations = new Set(grants.list.map(({ group }) => group).filter((uid) => parentOf(uid) === ''))
  return [...organizations].some((uid) => missingAt(grants, ownerBits, uid) === undefined)
}

export const bindOwner = (context: WriteContext, organization: string, identity: string): Work<void> =>
  bindRole(context, identity, builtInRole('owner').uid, organization)

/** Creates an organization without an owner. */
export function* createOrganization({ access, now, random }: WriteContext, name: string): Work<string> {
  const uid = newRootUid(random)
  yield* createEntry(access, groups, create(GroupSchema, { name }), { uid, now: now() })
  return uid
}

/** Describes what is wrong with the name of an organization. */
export const nameFault = (name: string): string | undefined =>
  violationsOf(GroupSchema, create(GroupSchema, { name }))[0]?.description
