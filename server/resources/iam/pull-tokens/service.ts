// Pull tokens: long-lived passwords for registry clients. Each is an identity, see create-pull-token.ts.
import { create, fromBinary } from '@bufbuild/protobuf'
import {
  IdentitiesService,
  type Identity,
  ListIdentitiesRequestSchema,
  ListIdentitiesResponseSchema,
  RelationshipType,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type {
  CreatePullTokenRequest,
  ListPullTokensRequest,
} from '@stemma/api/gen/platform/registry/v2beta1/pull_token_pb.ts'
import {
  ListPullTokensResponseSchema,
  PullTokenSchema,
  PullTokensService,
} from '@stemma/api/gen/platform/registry/v2beta1/pull_token_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { notFound } from '../../../aip/errors.ts'
import { etagOf, requireMatch } from '../../../aip/etag.ts'
import { openPatterns } from '../../../claims/pattern.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { raw, sql } from '../../../store/sql.ts'
import { readForDelete } from '../../../store/table.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { andThen } from '../../../wire/maybe-promise.ts'
import type { Reply } from '../../../wire/reply.ts'
import { emptyReply, messageReply } from '../../../wire/reply.ts'
import { removeEntry } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { messageOf } from '../../kind.ts'
import { equalTo, listResources } from '../../list.ts'
import { removeWhere } from '../../remove-where.ts'
import { defineService } from '../../resource.ts'
import { identities } from '../identities/table.ts'
import { roleBindings } from '../role-bindings/table.ts'
import { createPullToken } from './create-pull-token.ts'
import { pullTokenOf } from './pull-token.ts'

const listIdentities = describeMethod(IdentitiesService.method.listIdentities)

function pullTokensMethods(deps: Dependencies) {
  const { store, now, settings, checks } = deps
  const trust = { authUrl: settings.authUrl, patterns: openPatterns(), checks }
  return {
    createPullToken: (call: Call<CreatePullTokenRequest>) => createPullToken(deps, trust, call),

    getPullToken: (call: Call) =>
      store.read(function* () {
        yield* admitToRead(call.demand)
        const { identity, updateTime } = yield* readIdentity(call.demand.scope)
        const reply = messageReply(PullTokenSchema, pullTokenOf(identity, now()))
        return { ...reply, etag: etagOf(updateTime) }
      }),

    listPullTokens(call: Call<ListPullTokensRequest>) {
      const { $typeName: _, name, ...page } = call.request
      const request = create(ListIdentitiesRequestSchema, page)
      const inner = { ...call, method: listIdentities, request, form: 'bytes' } as const
      const filters = [
        sql`pull_token = 1`,
        sql`relationship_type = ${RelationshipType.STATIC}`,
        ...equalTo(raw('name'), name),
      ]
      return andThen(listResources(deps, identities, inner, { filters, outer: call }), (reply) =>
        pageOf(reply, now()),
      )
    },

    deletePullToken: (call: Call) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const uid = call.demand.scope
        yield* readForDelete(identities.table, uid)
        const { updateTime } = yield* readIdentity(uid)
        requireMatch(call.ifMatch, updateTime)
        // An identity has at most 1000 role bindings (iam/binding.ts). Only the deleted identity
        // has access through them, so the caller needs no capability in their groups.
        yield* removeWhere(access, roleBindings, sql`identity = ${uid}`)
        yield* removeEntry(access, identities, uid)
        return emptyReply
      }, call.deadline),
  }
}

export const pullTokensService = defineService({ service: PullTokensService, methods: pullTokensMethods })

/** Other identities are not pull tokens, so they are not found. */
function* readIdentity(uid: string): Work<{ identity: Identity; updateTime: number }> {
  const row = yield* first(
    sql`select proto, update_time from identities where uid = ${uid} and pull_token = 1`,
  )
  if (!row) throw notFound(PullTokenSchema.typeName, uid)
  return { identity: messageOf(identities, row[0] as Uint8Array), updateTime: row[1] as number }
}

function pageOf(reply: Reply, now: number): Reply {
  const { identities: page, ...fields } = fromBinary(ListIdentitiesResponseSchema, reply.bytes())
  const { nextPageToken, totalCount, skipped } = fields
  const pullTokens = page.map((identity) => pullTokenOf(identity, now))
  return messageReply(
    ListPullTokensResponseSchema,
    create(ListPullTokensResponseSchema, {
      ...{ pullTokens, nextPageToken, skipped },
      ...(totalCount !== undefined && { totalCount }),
    }),
  )
}
