import type {
  ListDocumentsRequest,
  ListVulnerabilityMetadataRequest,
} from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import { SecurityAdvisoryService } from '@stemma/api/gen/platform/advisory/v2beta1/security_advisory_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import type { Dependencies } from '../../../dependencies.ts'
import { defineService } from '../../../resource.ts'
import type { DocumentDependencies } from './list-documents.ts'
import { listDocuments } from './list-documents.ts'
import { listVulnerabilityMetadata } from './list-metadata.ts'

export const securityAdvisoryService = defineService({
  service: SecurityAdvisoryService,
  methods: (deps: Dependencies & DocumentDependencies) => ({
    listDocuments: (call: Call<ListDocumentsRequest>) => listDocuments(deps, call),
    listVulnerabilityMetadata: (call: Call<ListVulnerabilityMetadataRequest>) =>
      listVulnerabilityMetadata(deps, call),
  }),
})
