// Creates a pull token: an identity that accepts one token, and its role.
import { create } from '@bufbuild/protobuf'
import type { Duration } from '@bufbuild/protobuf/wkt'
import { durationMs, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import type { CreatePullTokenRequest } from '@stemma/api/gen/platform/registry/v2beta1/pull_token_pb.ts'
import { PullTokenSchema } from '@stemma/api/gen/platform/registry/v2beta1/pull_token_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { etagOf } from '../../../aip/etag.ts'
import { isAtOrBelow, newChildUid } from '../../../aip/uid.ts'
import { signWithSingleUseKey } from '../../../crypto/single-use-key.ts'
import type { WriteGrants } from '../../../policy/admit.ts'
import { builtInRole } from '../../../policy/built-in-roles.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { messageReply } from '../../../wire/reply.ts'
import { createIn } from '../../create.ts'
import { createOnce } from '../../create-once.ts'
import type { Dependencies } from '../../dependencies.ts'
import { requireDelegable } from '../delegation.ts'
import { removeExpiredBlockers } from '../expired-bindings.ts'
import { identities } from '../identities/table.ts'
import { roleBindings } from '../role-bindings/table.ts'
import { requireMayCreate } from '../takeover.ts'
import type { TrustDependencies } from '../trust-decisions.ts'
import { withTrustDecisions } from '../trust-decisions.ts'
import { pullTokenOf } from './pull-token.ts'

const role = builtInRole('registry.pull').uid
const minTtlMs = 60_000
const defaultTtlMs = 30 * 24 * 60 * 60 * 1000
/** The maximum lifetime of static keys as well. */
const maxTtlMs = 365 * 24 * 60 * 60 * 1000

export function createPullToken(
  deps: Dependencies,
  trust: TrustDependencies,
  call: Call<CreatePullTokenRequest>,
): Promise<Reply> {
  const { authUrl } = trust
  const parent = call.demand.scope
  // Chosen once, before the transaction, which may run several times: the trust decisions are about
  // this uid.
  const uid = newChildUid(parent, deps.now(), deps.random)
  return withTrustDecisions(trust, call.demand.caller.identity, (decisions) =>
    createOnce(deps, call, function* (grants) {
      const time = deps.now()
      const { identity, password } = yield* draftIdentity(call.request, { uid, time, authUrl })
      yield* requireMayCreate({ authUrl, decisions }, grants, uid)
      yield* createIn(grants, parent, identities, identity, { uid, now: time })
      yield* bindPullRole(deps, grants, parent, uid)
      const pullToken = pullTokenOf(identity, time)
      pullToken.password = password
      return { ...messageReply(PullTokenSchema, pullToken), etag: etagOf(time) }
    }),
  )
}

type NewIdentity = { identity: Identity; password: string }

function* draftIdentity(
  { parent, pullToken }: CreatePullTokenRequest,
  { uid, time, authUrl }: { uid: string; time: number; authUrl: string },
): Work<NewIdentity> {
  const { name = '', description = '', ttl, repoUid = '' } = pullToken ?? {}
  const expires = time + ttlOf(ttl)
  if (repoUid !== '') yield* requireRepo(parent, repoUid)
  // Not the server's own issuer, whose tokens are verified only with the keys of the server.
  const issuer = `${authUrl}/pull-tokens`
  const [iat, exp] = [Math.floor(time / 1000), Math.floor(expires / 1000)]
  const { token, publicKeys } = signWithSingleUseKey({ iss: issuer, sub: uid, aud: authUrl, iat, exp })
  const expirationTime = timestampFromMs(exp * 1000)
  const identity = create(IdentitySchema, {
    ...{ name, description, lastSeenTime: timestampFromMs(time), pullToken: { repoUid } },
    relationship: {
      case: 'staticKeys',
      value: { issuer, subject: uid, issuerKeys: publicKeys, expirationTime },
    },
  })
  return { identity, password: token }
}

function ttlOf(ttl: Duration | undefined): number {
  if (!ttl) return defaultTtlMs
  const ttlMs = durationMs(ttl)
  if (ttlMs >= minTtlMs && ttlMs <= maxTtlMs) return ttlMs
  throw invalidField('ttl', 'must be from 1 minute to 365 days, such as 2592000s')
}

function* requireRepo(group: string, repo: string): Work<void> {
  const row = isAtOrBelow(repo, group) && (yield* first(sql`select 1 from repos where uid = ${repo}`))
  if (!row) throw invalidField('repo_uid', 'must be the uid of a repo in this group or below it')
}

function* bindPullRole(
  { now, random }: Dependencies,
  grants: WriteGrants,
  group: string,
  identity: string,
): Work<void> {
  yield* requireDelegable(grants, group, role, 'parent')
  const uid = newChildUid(group, now(), random)
  yield* removeExpiredBlockers(grants, { identity, role, group }, now())
  yield* createIn(grants, group, roleBindings, create(RoleBindingSchema), {
    uid,
    now: now(),
    columns: { identity, role },
  })
}
