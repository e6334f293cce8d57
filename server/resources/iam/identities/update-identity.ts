import type { Message } from '@bufbuild/protobuf'
import { create, equals } from '@bufbuild/protobuf'
import type { Identity, UpdateIdentityRequest } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { failedPrecondition } from '../../../aip/errors.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Reply } from '../../../wire/reply.ts'
import { withWarnings } from '../../../wire/reply.ts'
import type { Warning } from '../../../wire/warning.ts'
import type { Dependencies } from '../../dependencies.ts'
import { updateResource } from '../../update.ts'
import { requireMayTakeOver } from '../takeover.ts'
import type { TrustDependencies } from '../trust-decisions.ts'
import { withTrustDecisions } from '../trust-decisions.ts'
import { checkPatterns } from './check-patterns.ts'
import { requireValidRelationship, setExpiry } from './relationship.ts'
import { relationshipWarnings } from './relationship-warnings.ts'
import { identities } from './table.ts'

export async function updateIdentity(
  deps: Dependencies,
  trust: TrustDependencies,
  call: Call<UpdateIdentityRequest>,
): Promise<Reply> {
  const { issuerRule, authUrl } = deps.settings
  const { judge } = await checkPatterns(deps, call.demand, call.request, true)
  let warnings: Warning[] = []
  const reply = await withTrustDecisions(trust, call.demand.caller.identity, (decisions) =>
    updateResource(deps, identities, call, {
      *beforeUpdate({ current, merged, grants, time }) {
        setExpiry(merged, time)
        if (isSameRelationship(current, merged)) return
        if (current.pullToken)
          throw failedPrecondition(
            'PULL_TOKEN',
            'the keys of a pull token cannot be changed; create another pull token and delete this one',
          )
        requireValidRelationship(merged, { issuerRule, judge, now: time })
        warnings = relationshipWarnings(merged, judge)
        yield* requireMayTakeOver({ authUrl, decisions }, grants, call.demand.scope)
      },
    }),
  )
  return withWarnings(reply, warnings)
}

function isSameRelationship(current: Identity, merged: Identity): boolean {
  const relationshipOnly = ({ relationship }: Identity): Message => create(IdentitySchema, { relationship })
  return equals(IdentitySchema, relationshipOnly(current) as Identity, relationshipOnly(merged) as Identity)
}
