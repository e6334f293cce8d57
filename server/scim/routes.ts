// Finds the endpoint of a request.
import { noSuchEndpoint, ScimError } from './errors.ts'
import type { ScimDependencies, ScimRequest, ScimResponse } from './request.ts'
import { answerCollection, answerResource, answerSearch, endpoints, methodNotAllowed } from './resources.ts'
import { describeSchemas, describeTypes, serviceProviderConfig } from './schema/discovery.ts'

export async function answer(deps: ScimDependencies, request: ScimRequest): Promise<ScimResponse> {
  const [first = '', second, ...others] = request.endpoint
  if (others.length > 0) throw noSuchEndpoint()
  const endpoint = endpoints.get(first)
  if (endpoint) {
    if (second === undefined) return answerCollection(deps, endpoint, request)
    if (second === '.search') return answerSearch(deps, [endpoint], request)
    return answerResource(deps, endpoint, request, second)
  }
  if (first === '.search' && second === undefined) return answerSearch(deps, [...endpoints.values()], request)
  return answerDiscovery(request, first, second)
}

/** Discovery has no filters (RFC 7644 section 4). */
function answerDiscovery(request: ScimRequest, name: string, id: string | undefined): ScimResponse {
  const { base, method, query } = request
  if (name === 'Me' || name === 'Bulk') throw new ScimError(501, `/${name} is not supported`)
  const documents = documentsOf(base, name)
  if (!documents) throw noSuchEndpoint()
  if (method !== 'GET') throw methodNotAllowed('GET, HEAD')
  if (query.has('filter')) throw new ScimError(403, `/${name} cannot be filtered`)
  if (!Array.isArray(documents)) {
    if (id !== undefined) throw noSuchEndpoint()
    return { status: 200, body: documents }
  }
  if (id === undefined) return { status: 200, body: listOfAll(documents) }
  const document = documents.find((candidate) => candidate.id === decoded(id))
  if (!document) throw noSuchEndpoint()
  return { status: 200, body: document }
}

function documentsOf(base: string, name: string): object | readonly { id: string }[] | undefined {
  if (name === 'ServiceProviderConfig') return serviceProviderConfig(base)
  if (name === 'ResourceTypes') return describeTypes(base)
  return name === 'Schemas' ? describeSchemas(base) : undefined
}

/** Some clients escape the colons of a URN. */
const decoded = (id: string) => id.replaceAll(/%3a/gi, ':')

const listOfAll = (documents: readonly unknown[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  ...{ totalResults: documents.length, startIndex: 1, itemsPerPage: documents.length },
  Resources: documents,
})
