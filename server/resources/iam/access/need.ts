// The access that a question is about: a capability, or the access that the handler of a method
// checks first. Most handlers check what the options of the method say; the exceptions are listed
// here.
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { Identities as EventIdentities } from '@stemma/api/gen/platform/events/identity_pb.ts'
import { GroupInvites as V1GroupInvites } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import { Groups as V1Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { RoleBindings as V1RoleBindings } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import type { CheckAccessRequest } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { services } from '@stemma/api/gen/services.ts'
import type { Method } from '@stemma/api/method.ts'
import { describeMethod, describeMethods } from '@stemma/api/method.ts'
import { nearestNames } from '@stemma/api/nearest-names.ts'
import type { FieldViolation } from '../../../aip/errors.ts'
import { isUid, parentOf } from '../../../aip/uid.ts'
import { allCapabilities, capabilityNamed, capabilityOf } from '../../../policy/capabilities.ts'

export type Need =
  | At
  /** All of these capabilities in at least one group. */
  | { kind: 'anywhere'; bits: readonly number[] }
  /** The right to create organizations, and all of these capabilities in at least one group. */
  | { kind: 'organizations'; bits: readonly number[] }
  /** Only the identity itself may do it, with a token without limits. If `isForPeople`, a workload may not. */
  | { kind: 'self'; isForPeople: boolean }
  /** The caller must be an operator of the server. */
  | { kind: 'operators' }
  /**
   * The answer is always no. If `isForSelf`, only the identity itself has this access, and the question is about an
   * identity other than the caller. Otherwise only operators have this access, and the question is about an identity
   * other than the caller, or about `SetGroupLimits` of an organization, for which operators use another method.
   */
  | { kind: 'never'; isForSelf: boolean }
  | Wrong

/**
 * All of these capabilities, as bits, at a uid. No bits: nothing is needed. If `isBindingDeletion`, a person needs
 * nothing if the role binding at the uid is their own; `resolveOwnBindings` then sets `ownUntil` to its expiry.
 */
type At = { kind: 'at'; bits: readonly number[]; uid: string; isBindingDeletion?: true; ownUntil?: number }
/** The question is invalid. Not thrown, because only a caller who may ask gets the error. */
type Wrong = { kind: 'wrong'; violation: FieldViolation }

/** An empty identity is that of the caller. */
export type Question = Pick<CheckAccessRequest, 'identity' | 'capability' | 'method' | 'resource'>

/** `self` is the uid of the caller if the question is about the caller. */
export function needOf(question: Omit<Question, 'identity'>, self: string | undefined): Need {
  const { capability, method, resource } = question
  if (capability !== '' && method !== '')
    return wrong('method', 'must be empty if capability is set', ['capability'])
  if (method !== '') return methodNeed(question, self)
  if (capability === '') return wrong('capability', 'is required, or method in its place', ['method'])
  const need = capabilityNeed(capability, resource)
  return need.kind === 'at' && resource === '' ? resourceIsRequired : need
}

/** The need of a capability at a uid, or the error for an unknown capability. */
export function capabilityNeed(name: string, uid = ''): At | Wrong {
  const bits = bitsByCapability.get(name)
  return bits ? { kind: 'at', bits, uid } : unknownName('capability', 'a capability', name, capabilityNames)
}

const capabilityNames = allCapabilities.map(({ name }) => name)
const bitsByCapability = new Map(allCapabilities.map(({ name, bit }) => [name, [bit]]))

const wrong = (field: string, description: string, mentions: readonly string[] = []): Wrong => ({
  kind: 'wrong',
  violation: { field, description, mentions },
})
const resourceIsRequired = wrong('resource', 'is required')
const resourceIsRequiredForOthers = wrong('resource', 'is required for questions about other identities')
/** An answer about another identity would reveal access outside the resource, where the caller may not ask about others. */
const dependsOnNoResource = wrong(
  'method',
  'needs access that does not depend on a resource, so only the identity itself can ask about it',
)

type MethodNeed = { method: Method; bits: readonly number[] }

const methods = new Map<string, MethodNeed>(
  services
    .flatMap(describeMethods)
    .filter(({ isInternal }) => !isInternal)
    .map((method) => [method.name, { method, bits: bitsOf(method) }]),
)
const methodNames = [...methods.keys()]

function bitsOf({ access }: Method): number[] {
  const { open = false, capabilities = [] } = access ?? {}
  return open ? [] : capabilities.flatMap((number) => capabilityOf(number)?.bit ?? [])
}

function methodNeed({ method: name, resource }: Omit<Question, 'identity'>, self: string | undefined): Need {
  const known = methods.get(name)
  if (!known) return unknownName('method', 'the full name of a method', name, methodNames)
  const { method, bits } = known
  if (method.access?.operators) return self === undefined ? onlyOperators : { kind: 'operators' }
  if (self !== undefined) {
    if (isOwnAccount(method)) return { kind: 'self', isForPeople: true }
    if (metadataUpdates.has(name)) return { kind: 'self', isForPeople: false }
    if (name === getPackage) return { kind: 'anywhere', bits }
    if (name === createWithGroup) return { kind: 'organizations', bits }
  } else {
    if (isOwnAccount(method) || metadataUpdates.has(name)) return { kind: 'never', isForSelf: true }
    if (name === getPackage || name === createWithGroup) return dependsOnNoResource
  }
  if (resource === '') {
    if (self === undefined) return resourceIsRequiredForOthers
    if (groupCreations.has(name)) return { kind: 'organizations', bits: [] }
    return method.access?.scopeOptional || bits.length === 0 ? nothing : resourceIsRequired
  }
  const isRoot = parentOf(resource) === ''
  if (name === getIdentity && isRoot && resource === self) return nothing
  if (name === getRole && isRoot && self !== undefined) return { kind: 'anywhere', bits }
  if (name === setGroupLimits) return isRoot ? onlyOperators : { kind: 'at', bits, uid: parentOf(resource) }
  return { kind: 'at', bits, uid: resource, ...(bindingDeletions.has(name) && { isBindingDeletion: true }) }
}

const onlyOperators: Need = { kind: 'never', isForSelf: false }
const nothing: Need = { kind: 'at', bits: [], uid: '' }

/** Without a parent, these calls create an organization. */
const groupCreations = new Set(namesOf(GroupsService.method.createGroup, V1Groups.method.create))
/** People may change or delete their own account, but not with a limited token. */
const isOwnAccount = ({ desc }: Method) => desc.parent === AccountService || desc === Auth.method.delete
const metadataUpdates = new Set(
  namesOf(IdentitiesService.method.updateIdentityMetadata, EventIdentities.method.updateMetadata),
)
/** Packages are in no group. Those with the capability in at least one group may read them. */
const getPackage = describeMethod(Registry.method.getPackageVersionMetadata).name
/** Creates an organization, whatever the field `group` contains. */
const createWithGroup = describeMethod(V1GroupInvites.method.createWithGroup).name
/** The limits of a group are set by those who may change the group above it. */
const setGroupLimits = describeMethod(GroupsService.method.setGroupLimits).name
/** People may delete their own role bindings. */
const bindingDeletions = new Set(
  namesOf(RoleBindingsService.method.deleteRoleBinding, V1RoleBindings.method.delete),
)
/** People may read their own identity. */
const getIdentity = describeMethod(IdentitiesService.method.getIdentity).name
/** Built-in roles are in no group. Those who may list roles in at least one group may read them. */
const getRole = describeMethod(RolesService.method.getRole).name

function namesOf(...descs: Method['desc'][]): string[] {
  return descs.map((desc) => describeMethod(desc).name)
}

function unknownName(field: string, expected: string, name: string, names: readonly string[]): Wrong {
  const similar = nearestNames(name, names)
  const hint = similar.length > 0 ? `; did you mean ${similar.join(' or ')}?` : ''
  return wrong(field, `must be ${expected}${hint}`)
}

/**
 * The uid of the resource that a question names. Empty if it names none, or a text that is not a
 * uid, which the validation of the request reports.
 */
export const placeOf = ({ resource }: Pick<Question, 'resource'>): string => (isUid(resource) ? resource : '')

/** The capabilities that a search for resources asks about. */
export type SearchNeed = {
  capabilities: readonly number[]
  /** Whether they are needed one level above the resource. */
  isAbove: boolean
}

/** No capabilities for an unknown name: then nothing is found. */
export function searchNeedOf({ capability, method }: Pick<Question, 'capability' | 'method'>): SearchNeed {
  const number = capabilityNamed(capability)?.number
  const ofMethod = methods.get(method)?.method.access?.capabilities ?? []
  return { capabilities: number === undefined ? ofMethod : [number], isAbove: method === setGroupLimits }
}
