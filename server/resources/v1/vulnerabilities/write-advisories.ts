// Creates, updates and withdraws advisories. v2 has no calls for this.
import { create } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type {
  CreateAdvisoryRequest,
  DeleteAdvisoryRequest,
  Advisory as V1Advisory,
} from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { AdvisorySchema as V1AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import type { Advisory } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { etagOf, requireMatch } from '../../../aip/etag.ts'
import type { Call } from '../../../rpc/call.ts'
import { readForDelete } from '../../../store/table.ts'
import type { Reply } from '../../../wire/reply.ts'
import { emptyReply, messageReply } from '../../../wire/reply.ts'
import { createOnce } from '../../create-once.ts'
import { advisories } from '../../vulnerabilities/advisories/table.ts'
import type { V1Dependencies } from '../dependencies.ts'
import { admittedWrite } from './admitted-write.ts'
import { advisoryFromV1, advisoryToV1, replaceFields } from './conversion.ts'
import { pathStart, withV1ErrorFields } from './error-fields.ts'
import { readAdvisory } from './read-advisory.ts'
import { applyReviewRules } from './review.ts'

export const writeMethods = ({ store, idempotency, advisoryWrites }: V1Dependencies) => ({
  create: (call: Call<CreateAdvisoryRequest>) =>
    createOnce({ store, idempotency }, call, function* (grants) {
      const { scope } = call.demand
      // Converted inside the transaction: the write modifies the draft, and a retry needs a new one.
      const draft = advisoryFromV1(call.request.advisory ?? create(V1AdvisorySchema))
      draft.author ||= grants.caller.identity
      for (const event of draft.events) applyReviewRules(grants, scope, event)
      const uid = yield* withV1ErrorFields(pathStart.create, advisoryWrites.create(grants, scope, draft))
      return advisoryReply(yield* readAdvisory(uid, advisories))
    }),

  update: (call: Call<V1Advisory>) =>
    admittedWrite(store, call, function* (grants) {
      const { request, ifMatch } = call
      let updateTimeBefore = 0
      const revise = (advisory: Advisory) => {
        updateTimeBefore = updateTimeOf(advisory)
        if (request.advisoryId !== '' && request.advisoryId !== advisory.advisoryId)
          throw invalidField('advisory_id', 'cannot be changed')
        replaceFields(advisory, request)
        advisory.author ||= grants.caller.identity
      }
      const revision = advisoryWrites.revise(grants, request.id, revise)
      const revised = yield* withV1ErrorFields(pathStart.update, revision)
      // The entity tag is compared after all checks of values. If it does not match, the error rolls the revision back.
      requireMatch(ifMatch, updateTimeBefore)
      return advisoryReply(revised)
    }),

  delete: (call: Call<DeleteAdvisoryRequest>) =>
    admittedWrite(store, call, function* (grants) {
      const { id } = call.request
      const row = yield* readForDelete(advisories.table, id)
      if (row) requireMatch(call.ifMatch, row.updateTime)
      yield* advisoryWrites.withdraw(grants, id)
      return emptyReply
    }),
})

const updateTimeOf = ({ updateTime }: Advisory) => (updateTime ? timestampMs(updateTime) : 0)

const advisoryReply = (advisory: Advisory): Reply => ({
  ...messageReply(V1AdvisorySchema, advisoryToV1(advisory)),
  etag: etagOf(updateTimeOf(advisory)),
})
