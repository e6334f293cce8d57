// Explains a decision: the sources of access on the way from the organization to the resource, what they contribute,
// and what is missing.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create, fromBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type {
  AccessExplanation,
  AccessLevelSchema,
  AccessSourceSchema,
} from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import {
  AccessExplanationSchema,
  AccessRule,
  CapabilityState,
} from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import type { RoleBinding, RoleBindingGroup } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { isAtOrBelow, lineage } from '../../../aip/uid.ts'
import type { Demand } from '../../../policy/admit.ts'
import { nameOfBit } from '../../../policy/capabilities.ts'
import { forever, noAccess } from '../../../policy/decide.ts'
import { holds } from '../../../policy/grants.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { Admitted, AnswerSettings } from './answer.ts'
import { admitToAsk, answerAdmitted, askCapabilities } from './answer.ts'
import { stateOf } from './capability-state.ts'
import { readBindings } from './entry.ts'
import { readGrantors, sufficientRoles } from './grantors.ts'
import { limitsOf } from './list-reach.ts'
import type { Need, Question } from './need.ts'
import type { OwnSource } from './source.ts'
import { groupOf, readSourcesOf } from './source.ts'

export function* explainAccess(
  settings: AnswerSettings,
  demand: Demand,
  asked: Question,
): Work<AccessExplanation> {
  const admitted = yield* admitToAsk(demand, asked)
  const { isSelf, need, place, grants } = admitted
  const accessEnd = yield* answerAdmitted(settings, demand, admitted)
  const limits = isSelf ? grants.caller.limits : undefined
  const bits = bitsOf(need)
  const levels = need.kind === 'at' && bits.length > 0 ? lineage(place) : []
  const sources = yield* readSources(admitted, bits, levels)
  const isVisible = (source: OwnSource) => isSelf || holds(grants, askCapabilities, groupOf(source))
  const explanation = create(AccessExplanationSchema, {
    ...{
      allowed: accessEnd !== noAccess,
      rule: ruleOf(need),
      ...untilOf(accessEnd),
      ...(limits && { limits: limitsOf(limits) }),
    },
    capabilities: bits.map((bit) => {
      const { state, end: bitEnd } = stateOf(bit, sources, limits, uidOf(need))
      const giving = sources.filter(
        (source) => source.bits.has(bit) && !source.isSuspended && isVisible(source),
      )
      const uids = giving.filter((source) => applies(source, need)).map(({ binding }) => binding)
      return { capability: nameOfBit(bit), state, ...untilOf(bitEnd), roleBindingUids: uids }
    }),
    path: yield* pathOf(admitted, levels, bits, sources.filter(isVisible)),
    hidden: levels.length > 0 && !sources.every(isVisible),
  })
  for (const level of explanation.path)
    level.hidden = sources.some((source) => groupOf(source) === level.group?.uid && !isVisible(source))
  const missing = bits.filter((_, at) => explanation.capabilities[at]?.state === CapabilityState.MISSING)
  if (missing.length === 0) return explanation
  explanation.sufficientRoles = sufficientRoles(missing)
  if (place === '') return explanation
  // Differs from `place` for `SetGroupLimits`, which needs capabilities in the parent of the group.
  const needed = uidOf(need) ?? place
  // `admitToAsk` checks the capabilities at `place`, unless the question is about the caller.
  const isAlreadyChecked = !isSelf && needed === place
  if (isAlreadyChecked || holds(grants, askCapabilities, needed)) {
    const { grantors, areHidden } = yield* readGrantors(grants, missing, needed)
    explanation.grantors = grantors
    if (areHidden) explanation.hidden = true
  } else explanation.hidden = true
  return explanation
}

const ruleOf = (need: Need): AccessRule => {
  switch (need.kind) {
    case 'anywhere':
      return AccessRule.ROLES_ANYWHERE
    case 'organizations':
      return AccessRule.ORGANIZATION_CREATION
    case 'self':
      return AccessRule.SELF
    case 'never':
      return need.isForSelf ? AccessRule.SELF : AccessRule.OPERATOR
    case 'operators':
      return AccessRule.OPERATOR
    default:
      return bitsOf(need).length > 0 ? AccessRule.ROLES : AccessRule.NO_CAPABILITY
  }
}

/** The capabilities that are needed; none to delete one's own role binding. */
function bitsOf(need: Need): readonly number[] {
  if (need.kind === 'at' && need.ownUntil !== undefined) return []
  return 'bits' in need ? need.bits : []
}

/** The uid at which capabilities are needed; undefined if they are needed in at least one group. */
const uidOf = (need: Need) => (need.kind === 'at' ? need.uid : undefined)

const applies = (source: OwnSource, need: Need) =>
  need.kind !== 'at' || isAtOrBelow(need.uid, groupOf(source))

const untilOf = (end: number) =>
  end === noAccess || end === forever ? {} : { expireTime: timestampFromMs(end) }

function* readSources(
  { identity, need, grants }: Admitted,
  bits: readonly number[],
  levels: readonly string[],
): Work<OwnSource[]> {
  if (bits.length === 0) return []
  return yield* readSourcesOf(identity, grants.time, need.kind === 'at' ? levels : undefined)
}

function* pathOf(
  { grants }: Admitted,
  levels: readonly string[],
  bits: readonly number[],
  sources: readonly OwnSource[],
): Work<MessageInitShape<typeof AccessLevelSchema>[]> {
  if (levels.length === 0) return []
  const groups = yield* readGroups(levels)
  const bindings = yield* readBindings(sources.map(({ binding }) => binding))
  return levels.map((uid) => ({
    group: (holds(grants, [Capability.CAP_IAM_GROUPS_LIST], uid) && groups.get(uid)) || { uid },
    sources: sources
      .filter((source) => groupOf(source) === uid)
      .map((source) => sourceOf(source, bindings.get(source.binding), bits)),
  }))
}

function* readGroups(uids: readonly string[]): Work<Map<string, RoleBindingGroup>> {
  const rows = yield sql`select uid, binding_bytes from groups where uid in ${among(uids)}`
  return new Map(
    (rows as [string, Uint8Array][]).flatMap(([uid, bytes]) => {
      const { group } = fromBinary(RoleBindingSchema, bytes)
      return group ? [[uid, group]] : []
    }),
  )
}

const sourceOf = (
  source: OwnSource,
  binding: RoleBinding | undefined,
  bits: readonly number[],
): MessageInitShape<typeof AccessSourceSchema> => ({
  roleBindingUid: source.binding,
  capabilities: bits.filter((bit) => source.bits.has(bit)).map(nameOfBit),
  suspended: source.isSuspended,
  ...(binding?.role && { role: binding.role }),
  ...(binding?.externalGroup && { externalGroup: binding.externalGroup }),
  ...(source.until !== undefined && { expireTime: timestampFromMs(source.until) }),
})
