// Random questions for the property test of CheckAccess: by whom, about which call, at which uid.
import type { DescMethod } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { GroupInvites as V1GroupInvites } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import { Groups as V1Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { services } from '@stemma/api/gen/services.ts'
import type { Method } from '@stemma/api/method.ts'
import { describeMethods } from '@stemma/api/method.ts'
import { nameOf } from '../../server/policy/capabilities.ts'
import type { Caller } from '../../server/wire/caller.ts'
import type { Draw } from './draw.ts'
import type { RegistryRequest } from './registry-requests.ts'
import { registryRequests, repoNames } from './registry-requests.ts'
import type { World } from './world.ts'
import { parentOf, uidGenerator } from './world.ts'

export type Question = { caller: Caller; uid: string; call: MethodCall | RegistryCall }
type MethodCall = { kind: 'method'; method: Method }
/** `repo` is the uid, or the names that lead to it. */
type RegistryCall = { kind: 'registry'; request: RegistryRequest; repo: string }

/**
 * Calls of v1 that would change the world, because v1 has no validate_only. check-access.test.ts
 * has examples of them.
 */
const destructive: readonly DescMethod[] = [
  ...[Auth.method.delete, V1GroupInvites.method.createWithGroup, V1Groups.method.create],
]
/** The methods of the questions: those that need a token, without internal and destructive ones. */
const methods = services
  .flatMap(describeMethods)
  .filter(
    ({ desc, isInternal, access }) => access && !access.open && !isInternal && !destructive.includes(desc),
  )
/** The capabilities that the calls need. */
export const demanded = [
  ...new Set([
    ...methods.flatMap(({ access }) => access?.capabilities ?? []).map(nameOf),
    ...registryRequests.flatMap(({ capabilities }) => capabilities),
  ]),
]

/** The needs of a call, as requests to CheckAccess. The call is allowed if all needs are. */
export const needsOf = ({ uid: resource, call }: Question) =>
  call.kind === 'method'
    ? [{ method: call.method.name, resource }]
    : call.request.capabilities.map((capability) => ({ capability, resource }))

export const describeQuestion = ({ caller, uid, call }: Question) => {
  const name =
    call.kind === 'method' ? call.method.name : `${call.request.method} ${call.repo}${call.request.path}`
  return `${name} at "${uid}" by ${JSON.stringify(caller)}`
}

/**
 * An identity may read built-in roles if it may list roles in at least one group. Only the identity
 * itself can ask whether it may.
 */
export const isOnlyForSelf = ({ call, uid }: Question) =>
  call.kind === 'method' && call.method.desc === RolesService.method.getRole && parentOf(uid) === ''

/** One of ten questions is about the registry protocol, whose requests take longer. */
export function drawQuestions(draw: Draw, world: World, salt: number, count: number): Question[] {
  const { newRoot, newChild } = uidGenerator(-1 - salt)
  const invented = [
    ...world.groups.flatMap((group) => [newChild(group), newChild(newChild(group))]),
    newRoot(),
  ]
  const [callers, names] = [drawCallers(draw, world), repoNames(world)]
  const drawCall = () =>
    draw.oneIn(10) ? drawRegistryCall(draw, names, invented) : drawMethodCall(draw, world, invented)
  return Array.from({ length: count }, () => ({ caller: draw.one(callers), ...drawCall() }))
}

/** A repo that exists, by its uid or its names, or the uid of one that does not exist. */
function drawRegistryCall(
  draw: Draw,
  names: ReadonlyMap<string, string>,
  invented: readonly string[],
): Pick<Question, 'uid' | 'call'> {
  const uid = draw.one(names.size > 0 && draw.oneIn(2) ? [...names.keys()] : invented)
  const repo = (draw.oneIn(2) && names.get(uid)) || uid
  return { uid, call: { kind: 'registry', request: draw.one(registryRequests), repo } }
}

/** At a uid that exists, these calls may require further capabilities, which depend on the resource. */
const changesExisting = ({ desc }: Method) => /^(Delete|Update)/.test(desc.name)

function drawMethodCall(
  draw: Draw,
  { groups, users, workloads, roles }: World,
  invented: readonly string[],
): Pick<Question, 'uid' | 'call'> {
  const method = draw.one(methods)
  const existing = [...groups, ...groups, ...groups, ...users, ...workloads, ...roles.map(({ uid }) => uid)]
  // The test calls AccessService with questions about others (`requestAt`), which need a uid.
  const mayOmitUid = method.access?.scopeOptional && method.desc.parent !== AccessService
  const isWithoutUid = method.scope.length === 0 || (mayOmitUid && draw.oneIn(4))
  return {
    call: { kind: 'method', method },
    uid: isWithoutUid ? '' : draw.one(changesExisting(method) || draw.oneIn(3) ? invented : existing),
  }
}

/**
 * Every identity without limits, and about half of them also with limits. Few callers, so that the
 * questions of each fill large batches.
 */
function drawCallers(draw: Draw, { groups, users, workloads }: World): Caller[] {
  const issuedAt = Math.floor(Date.now() / 1000)
  const unlimited = [...users, ...workloads].map((identity) => ({ identity, issuedAt }))
  return [
    ...unlimited,
    ...unlimited.filter(() => draw.oneIn(2)).map((caller) => limited(draw, caller, groups)),
  ]
}

function limited(draw: Draw, caller: Caller, groups: readonly string[]): Caller {
  const scopes = draw.oneIn(2) ? [draw.one(groups), draw.one(groups)] : undefined
  const capabilities = draw.oneIn(2) ? demanded.filter(() => !draw.oneIn(3)) : undefined
  return { ...caller, limits: { ...(scopes && { scopes }), ...(capabilities && { capabilities }) } }
}
