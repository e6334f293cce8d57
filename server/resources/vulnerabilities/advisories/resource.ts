import type { ListAdvisoriesRequest } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { Code } from '../../../aip/code.ts'
import { StatusError } from '../../../aip/errors.ts'
import type { Call } from '../../../rpc/call.ts'
import { recover } from '../../../wire/maybe-promise.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { listResources } from '../../list.ts'
import { defineResource } from '../../resource.ts'
import { documentMethods } from './documents.ts'
import { reindexAdvisories } from './reindex.ts'
import { searchListing } from './search-listing.ts'
import { advisories, withdrawnAdvisories } from './table.ts'

const advisoriesMethods = (deps: Dependencies) => ({
  getAdvisory: (call: Call) =>
    recover(
      () => getResource(deps.store, advisories, call),
      (error) => {
        if (!(error instanceof StatusError) || error.code !== Code.NOT_FOUND) throw error
        return getResource(deps.store, withdrawnAdvisories, call)
      },
    ),

  listAdvisories: (call: Call<ListAdvisoriesRequest>) =>
    listResources(deps, advisories, call, searchListing(call)),

  ...documentMethods(deps),
})

export const advisoriesResource = defineResource({
  kind: advisories,
  service: AdvisoriesService,
  methods: advisoriesMethods,
  onStart: reindexAdvisories,
})
