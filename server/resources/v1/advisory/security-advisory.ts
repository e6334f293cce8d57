// Documents and vulnerabilities in v1. The messages of both versions have the same field numbers and types, so
// they are converted as bytes.
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import type {
  DocumentFilter,
  VulnerabilityMetadataFilter,
} from '@stemma/api/gen/platform/advisory/security_advisory_pb.ts'
import {
  DocumentListSchema,
  SecurityAdvisory,
  VulnerabilityMetadataListSchema,
} from '@stemma/api/gen/platform/advisory/security_advisory_pb.ts'
import {
  ListDocumentsResponseSchema,
  ListVulnerabilityMetadataResponseSchema,
  SecurityAdvisoryService,
} from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import type { Call } from '../../../rpc/call.ts'
import { defineService } from '../../resource.ts'
import { convertReply } from '../convert-reply.ts'
import type { V1Dependencies } from '../dependencies.ts'

const v2 = SecurityAdvisoryService.method

export const securityAdvisoryV1 = defineService({
  service: SecurityAdvisory,
  methods: ({ callV2 }: V1Dependencies) => ({
    listDocuments(call: Call<DocumentFilter>) {
      const { id, cves } = call.request
      return convertReply(
        callV2(call, v2.listDocuments, { id, cves }),
        DocumentListSchema,
        viaBytes(ListDocumentsResponseSchema, DocumentListSchema),
      )
    },

    listVulnerabilityMetadata(call: Call<VulnerabilityMetadataFilter>) {
      const { id, ids, pageSize, pageToken, orderBy, skip } = call.request
      return convertReply(
        callV2(call, v2.listVulnerabilityMetadata, { id, ids, pageSize, pageToken, orderBy, skip }),
        VulnerabilityMetadataListSchema,
        viaBytes(ListVulnerabilityMetadataResponseSchema, VulnerabilityMetadataListSchema),
      )
    },
  }),
})

const viaBytes =
  <F extends DescMessage, T extends DescMessage>(from: F, to: T) =>
  (message: MessageShape<F>): MessageShape<T> =>
    fromBinary(to, toBinary(from, message))
