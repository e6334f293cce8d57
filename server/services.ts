// The endpoints of every service, from three lists: resource-list.ts, v1-services.ts, and the services below.
import type { DescMethod } from '@bufbuild/protobuf'
import { create, fromBinary } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { AccountService } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { RegistryTokens } from '@stemma/api/gen/platform/registry/content/token_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { describeMethods } from '@stemma/api/method.ts'
import type { Authentication } from './authentication.ts'
import { noLimits } from './limits/rate/call-limits.ts'
import type { OperatorDependencies } from './operators/dependencies.ts'
import { organizationsService } from './operators/organizations.ts'
import { peopleService } from './operators/people.ts'
import { serverService } from './operators/server.ts'
import { resources } from './resource-list.ts'
import type { AuditDependencies } from './resources/audit/service.ts'
import { auditService } from './resources/audit/service.ts'
import { authMethods } from './resources/auth/auth.ts'
import type { Dependencies } from './resources/dependencies.ts'
import { deliveriesService } from './resources/events/deliveries/service.ts'
import { eventsService } from './resources/events/tail/service.ts'
import type { TailDependencies } from './resources/events/tail/tail-events.ts'
import { accessSearchService } from './resources/iam/access/search.ts'
import { searchedKinds } from './resources/iam/access/searched-kinds.ts'
import { accessService } from './resources/iam/access/service.ts'
import { pullTokensService } from './resources/iam/pull-tokens/service.ts'
import { termsService } from './resources/iam/terms/terms.ts'
import { pingService, pingServiceV1 } from './resources/ping/ping.ts'
import { imagesService } from './resources/registry/content/images/service.ts'
import { contentService } from './resources/registry/content/service.ts'
import { reposMethods } from './resources/registry/repos/resource.ts'
import type { V1RepoFields } from './resources/registry/repos/table.ts'
import { tagsMethods } from './resources/registry/tags/resource.ts'
import type { AnyService } from './resources/resource.ts'
import { defineService } from './resources/resource.ts'
import type { CallV2 } from './resources/v1/call-v2.ts'
import type { V1Dependencies } from './resources/v1/dependencies.ts'
import { withoutPreconditionDetails } from './resources/v1/precondition-details.ts'
import { securityAdvisoryService } from './resources/vulnerabilities/advisories/security-advisory/service.ts'
import type { Call, Endpoint, Handler, SentKey } from './rpc/call.ts'
import { openCorridor } from './rpc/corridor.ts'
import type { Deadlines } from './rpc/deadline.ts'
import type { UnsentBudget } from './rpc/unsent-budget.ts'
import { noUnsentBudget } from './rpc/unsent-budget.ts'
import { rolledBackStore } from './store/rolled-back-store.ts'
import { advisoryWritesOf, imageReadsOf, ownerInvitesOf, v1Services } from './v1-services.ts'

type ServiceDependencies = Dependencies &
  TailDependencies &
  AuditDependencies &
  OperatorDependencies &
  Pick<Authentication, 'sts' | 'registration' | 'registry' | 'account'> &
  Pick<V1Dependencies, 'waitForTurn'> & { deadlines: Deadlines; unsent: UnsentBudget }

/** Services that have no kind and call no other service. */
const otherServices: readonly AnyService<ServiceDependencies>[] = [
  defineService({ service: SecurityTokenService, methods: ({ sts }: ServiceDependencies) => sts }),
  contentService,
  defineService({ service: RegistryTokens, methods: ({ registry }: ServiceDependencies) => registry.tokens }),
  imagesService,
  securityAdvisoryService,
  pullTokensService,
  eventsService,
  deliveriesService,
  pingService,
  pingServiceV1,
  termsService,
  { service: AccountService, methods: ({ account }: ServiceDependencies) => account },
  accessService,
  accessSearchService(searchedKinds(resources)),
  auditService,
  peopleService,
  organizationsService,
  serverService,
  defineService({
    service: Auth,
    methods: (deps: ServiceDependencies) => ({ ...authMethods(deps), ...deps.registration }),
  }),
]

export function endpointsOf(deps: ServiceDependencies): Endpoint[] {
  const validation = validationOf(deps)
  const v2 = [...resources, ...otherServices].flatMap((service) => serve(service, deps, validation))
  const v1Deps = {
    ...deps,
    callV2: openCallV2(v2, deps.deadlines),
    callV2WithRepoFields: (fields: V1RepoFields) =>
      openCallV2(
        serve({ service: ReposService, methods: () => reposMethods(deps, fields) }, deps),
        deps.deadlines,
      ),
    callV2WithOptionalDigest: openCallV2(
      serve({ service: TagsService, methods: () => tagsMethods(deps, { mayOmitDigest: true }) }, deps),
      deps.deadlines,
    ),
    deadlineClock: Date.now,
    advisoryWrites: advisoryWritesOf(deps),
    ownerInvites: ownerInvitesOf(deps),
    images: imageReadsOf(deps),
  }
  const v1 = v1Services.flatMap((service) => serve(service, v1Deps))
  return [...v2, ...v1.map(asV1)]
}

function asV1({ method, handler }: Endpoint): Endpoint {
  return { method, handler: withoutPreconditionDetails(handler as Handler) } // v1 has no streams
}

/** With `forValidation`, methods that accept `validate_only` also get a validator: the same handler without effects. */
function serve<Deps>(
  { service, methods }: AnyService<Deps>,
  deps: Deps,
  forValidation: Deps | undefined = undefined,
): Endpoint[] {
  const handlers = methods(deps)
  let validators: typeof handlers | undefined
  return describeMethods(service).map((method) => {
    const { localName } = method.desc
    const handler = handlers[localName]
    if (!handler) throw new Error(`${method.name} has no handler`)
    if (!method.canValidate || forValidation === undefined) return { method, handler }
    const validator: Handler = (call) => {
      validators ??= methods(forValidation)
      return (validators[localName] as Handler)(call) // not a StreamHandler: the method writes
    }
    return { method, handler, validator }
  })
}

/** Nothing that a handler does with these dependencies has an effect. */
const validationOf = (deps: ServiceDependencies): ServiceDependencies => ({
  ...deps,
  store: rolledBackStore(deps.store),
  validatesOnly: true,
  content: { open: () => Promise.reject(new Error('a validation needs no content')) },
})

/**
 * The endpoint with a handler that receives the idempotency key of the v1 call. No v1 call may make two creates: the
 * second would get the response of the first.
 */
function withSentKey(endpoint: Endpoint, sentKey: SentKey | undefined): Endpoint {
  const { method } = endpoint
  if (!sentKey || !method.isCreate) return endpoint
  const handler = endpoint.handler as Handler // creates have no streams
  return { method, handler: (call: Call) => handler({ ...call, sentKey } as Call<never>) }
}

/**
 * A call from v1 to v2 goes through the corridor as a separate call, for the caller that the v1 call has authenticated.
 * It is not reported, because the v1 call is.
 */
function openCallV2(endpoints: readonly Endpoint[], deadlines: Deadlines): CallV2 {
  const byMethod = new Map<DescMethod, Endpoint>(
    endpoints.map((endpoint) => [endpoint.method.desc, endpoint]),
  )
  return async (call, method, request) => {
    const { demand, deadline, authorization, address, ifMatch, sentKey } = call
    const endpoint = byMethod.get(method)
    if (!endpoint) throw new Error(`${method.parent.typeName}.${method.name} is not served`)
    const corridor = openCorridor({
      authenticate: () => demand.caller,
      report: () => {},
      deadlines,
      parseGrants: demand.parseGrants,
      now: demand.now,
      random: demand.random,
      defaultLimits: demand.defaultLimits,
      clock: () => 0, // used only for reports
      unsent: noUnsentBudget, // not sent: v1 converts the reply at once
      limits: noLimits, // the v1 call is counted
    })
    const timeout = deadlines.msUntil(deadline)
    const headers = { authorization, ifMatch, idempotencyKey: undefined }
    const { origin: madeBy } = demand
    const envelope = { ...madeBy.envelope, door: 'grpc', timeout, address, ...headers, madeBy } as const
    const reply = await corridor(withSentKey(endpoint, sentKey), envelope, () =>
      create(method.input, request),
    )
    const { etag, isReplayed, warnings } = reply
    return { message: fromBinary(method.output, reply.bytes()), etag, isReplayed, warnings }
  }
}
