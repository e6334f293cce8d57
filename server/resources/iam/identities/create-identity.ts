import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { CreateIdentityRequest } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { Call } from '../../../rpc/call.ts'
import type { Reply } from '../../../wire/reply.ts'
import { withWarnings } from '../../../wire/reply.ts'
import type { Warning } from '../../../wire/warning.ts'
import { createResource } from '../../create.ts'
import type { Dependencies } from '../../dependencies.ts'
import { requireMayCreate } from '../takeover.ts'
import type { TrustDependencies } from '../trust-decisions.ts'
import { withTrustDecisions } from '../trust-decisions.ts'
import { checkPatterns } from './check-patterns.ts'
import { requireValidRelationship, setExpiry } from './relationship.ts'
import { relationshipWarnings } from './relationship-warnings.ts'
import { identities } from './table.ts'

export async function createIdentity(
  deps: Dependencies,
  trust: TrustDependencies,
  call: Call<CreateIdentityRequest>,
): Promise<Reply> {
  const { issuerRule, authUrl } = deps.settings
  const { judge } = await checkPatterns(deps, call.demand, call.request)
  let warnings: Warning[] = []
  let keptUid: { uid?: string } = {}
  return withTrustDecisions(trust, call.demand.caller.identity, (decisions) =>
    createResource(deps, identities, call, {
      ...keptUid,
      *beforeCreate(draft, { grants, uid, time }) {
        // withTrustDecisions may run this again. It must then create the same uid, because the decisions are about it.
        keptUid = { uid }
        draft.lastSeenTime = timestampFromMs(time)
        setExpiry(draft, time)
        requireValidRelationship(draft, { issuerRule, judge, now: time })
        warnings = relationshipWarnings(draft, judge)
        yield* requireMayCreate({ authUrl, decisions }, grants, uid)
      },
      complete: (reply) => withWarnings(reply, warnings),
    }),
  )
}
