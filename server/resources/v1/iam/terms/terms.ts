// The v1 calls that accept terms documents and list the accepted ones.
import { create } from '@bufbuild/protobuf'
import type { AcceptTermsRequest, TermsFilter } from '@stemma/api/gen/platform/iam/terms_pb.ts'
import {
  Terms,
  TermsDocumentStatusSchema,
  TermsListSchema,
  AcceptTermsResponseSchema as V1ResponseSchema,
} from '@stemma/api/gen/platform/iam/terms_pb.ts'
import { TermsService } from '@stemma/api/gen/platform/iam/v2beta1/terms_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import { defineService } from '../../../resource.ts'
import { listAllPages } from '../../all-pages.ts'
import { convertReply } from '../../convert-reply.ts'
import type { V1Dependencies } from '../../dependencies.ts'

const v2 = TermsService.method

export const termsV1 = defineService({
  service: Terms,
  methods: (deps: V1Dependencies) => ({
    acceptTerms(call: Call<AcceptTermsRequest>) {
      const { group, documentIds } = call.request
      const reply = deps.callV2(call, v2.acceptTerms, { group, documentIds })
      return convertReply(reply, V1ResponseSchema, (response) =>
        create(V1ResponseSchema, { group: response.group, documentIds: response.documentIds }),
      )
    },

    listAccepted: (call: Call<TermsFilter>) =>
      listAllPages(deps, call, {
        method: v2.listTermsAcceptances,
        request: { group: call.request.group },
        list: TermsListSchema,
        items: ({ termsAcceptances }) =>
          termsAcceptances.map(({ docId, acceptedBy, createTime }) =>
            create(TermsDocumentStatusSchema, {
              ...{ docId, acceptedBy },
              ...(createTime && { acceptedAt: createTime }),
            }),
          ),
      }),
  }),
})
