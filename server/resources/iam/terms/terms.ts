// Terms: documents of the operator that groups accept. Acceptances are recorded, and not required by any call.
import { create } from '@bufbuild/protobuf'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type {
  AcceptTermsRequest,
  ListTermsAcceptancesRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/terms_pb.ts'
import { AcceptTermsResponseSchema, TermsService } from '@stemma/api/gen/platform/iam/v2beta1/terms_pb.ts'
import { failedPrecondition, invalidField, notFound } from '../../../aip/errors.ts'
import { admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { recordEvent } from '../../../store/events/record.ts'
import { sql } from '../../../store/sql.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies, TermsDocument } from '../../dependencies.ts'
import { defineService } from '../../resource.ts'
import { listAcceptances } from './list-acceptances.ts'

const termsMethods = (deps: Dependencies) => ({
  acceptTerms: (call: Call<AcceptTermsRequest>) =>
    deps.store.write(function* () {
      const access = yield* admitToWrite(call.demand)
      const { group } = call.request
      const documentIds = [...new Set(call.request.documentIds)]
      requireDocuments(deps.settings.terms, documentIds)
      const accepted = yield* recordAcceptances(group, documentIds, access.caller.identity, deps.now())
      const event = { group, kind: 'terms_acceptances', uid: group, action: 'accepted' }
      if (accepted.length > 0)
        yield* recordEvent(access, { ...event, details: { group, documentIds: accepted } })
      return messageReply(
        AcceptTermsResponseSchema,
        create(AcceptTermsResponseSchema, { group, documentIds }),
      )
    }, call.deadline),

  listTermsAcceptances: (call: Call<ListTermsAcceptancesRequest>) =>
    deps.store.read(() => listAcceptances(deps, call)),
})

export const termsService = defineService({ service: TermsService, methods: termsMethods })

function requireDocuments(documents: readonly TermsDocument[], ids: readonly string[]): void {
  if (documents.length === 0)
    throw failedPrecondition('NO_TERMS', 'the operator of this server has set no documents to accept')
  if (ids.every((id) => documents.some((document) => document.id === id))) return
  const known = documents.map(({ id, url }) => (url === undefined ? id : `${id} (${url})`))
  throw invalidField('document_ids', `must be documents of this server: ${known.join(', ')}`)
}

/** Returns the documents that the group has not accepted before. The first acceptance of a document is kept. */
function* recordAcceptances(
  group: string,
  documents: readonly string[],
  identity: string,
  time: number,
): Work<string[]> {
  const accepted: string[] = []
  try {
    for (const document of documents) {
      const row = yield* first(sql`insert into terms_acceptances (place, document, accepted_by, create_time)
        values (${group}, ${document}, ${identity}, ${time}) on conflict do nothing returning document`)
      if (row) accepted.push(document)
    }
    return accepted
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'foreign-key')
      throw notFound(GroupSchema.typeName, group)
    throw error
  }
}
