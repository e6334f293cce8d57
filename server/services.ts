// Every kind of resource and every service of the contract, with what answers it.
import type { DescMethod, DescService, JsonObject } from '@bufbuild/protobuf'
import { create, fromBinary } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { Subscriptions } from '@stemma/api/gen/platform/events/subscription_pb.ts'
import { SubscriptionsService } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { GroupAccountAssociations } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { GroupInvites } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { Identities } from '@stemma/api/gen/platform/iam/identity_pb.ts'
import { IdentityProviders } from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { RoleBindings } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { Roles } from '@stemma/api/gen/platform/iam/role_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { GroupAccessRequestsService } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { PingService as PingOfV1 } from '@stemma/api/gen/platform/ping/ping_pb.ts'
import { PingService } from '@stemma/api/gen/platform/ping/v2beta1/ping_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { describeMethods } from '@stemma/api/method.ts'
import { providerSecretPurpose } from './auth/login/provider-claims.ts'
import type { Authentication } from './authentication.ts'
import { issuerRuleOf } from './claims/issuer.ts'
import type { Config } from './config/config.ts'
import type { Secret } from './crypto/secret.ts'
import { sealText } from './crypto/secret.ts'
import { authService } from './resources/auth/auth.ts'
import type { Dependencies } from './resources/dependencies.ts'
import { subscriptionsService } from './resources/events/subscriptions/subscriptions.ts'
import { accountAssociationsService } from './resources/iam/account-associations/account-associations.ts'
import { groupAccessRequestsService } from './resources/iam/group-access-requests/group-access-requests.ts'
import { groupInvitesService } from './resources/iam/group-invites/group-invites.ts'
import { groupsService } from './resources/iam/groups/groups.ts'
import { identitiesService } from './resources/iam/identities/identities.ts'
import { identityProvidersService } from './resources/iam/identity-providers/identity-providers.ts'
import { roleBindingsService } from './resources/iam/role-bindings/role-bindings.ts'
import { rolesService } from './resources/iam/roles/roles.ts'
import { pingOfV1, pingService } from './resources/ping/ping.ts'
import { reposService } from './resources/registry/repos/repos.ts'
import { tagsService } from './resources/registry/tags/tags.ts'
import type { Ask } from './resources/v1/call-v2.ts'
import { subscriptionsOfV1 } from './resources/v1/events/subscriptions.ts'
import { accountAssociationsOfV1 } from './resources/v1/iam/account-associations/account-associations.ts'
import { groupInvitesOfV1 } from './resources/v1/iam/group-invites/group-invites.ts'
import { groupsOfV1 } from './resources/v1/iam/groups/groups.ts'
import { identitiesOfV1 } from './resources/v1/iam/identities/identities.ts'
import { identityProvidersOfV1 } from './resources/v1/iam/identity-providers/identity-providers.ts'
import { roleBindingsOfV1 } from './resources/v1/iam/role-bindings/role-bindings.ts'
import { rolesOfV1 } from './resources/v1/iam/roles/roles.ts'
import { reposOfV1 } from './resources/v1/registry/repos.ts'
import { tagHistoryOfV1 } from './resources/v1/registry/tag-history.ts'
import { tagsOfV1 } from './resources/v1/registry/tags.ts'
import type { AdvisoryWriting } from './resources/v1/vulnerabilities/advisories.ts'
import { advisoriesOfV1 } from './resources/v1/vulnerabilities/advisories.ts'
import { advisoryListOfV1 } from './resources/v1/vulnerabilities/list.ts'
import type { Writers } from './resources/vulnerabilities/advisories/advisories.ts'
import { advisoriesService } from './resources/vulnerabilities/advisories/advisories.ts'
import {
  createAdvisory,
  reviseAdvisory,
  withdrawAdvisory,
} from './resources/vulnerabilities/advisories/write.ts'
import { writeOpenVex } from './resources/vulnerabilities/formats/openvex.ts'
import { writeOsv } from './resources/vulnerabilities/formats/osv.ts'
import type { Endpoint, Handler, StreamHandler } from './rpc/call.ts'
import { openCorridor } from './rpc/corridor.ts'

/** One line for each service. */
export function endpointsOf(
  deps: Dependencies,
  config: Config,
  secret: Secret,
  { sts, registration }: Pick<Authentication, 'sts' | 'registration'>,
): Endpoint[] {
  const rule = issuerRuleOf(config)
  const seal = (plain: string) => sealText(secret, providerSecretPurpose, plain)
  const served = [
    serve(GroupsService, groupsService(deps, config)),
    serve(GroupAccessRequestsService, groupAccessRequestsService(deps)),
    serve(IdentitiesService, identitiesService(deps, rule)),
    serve(RolesService, rolesService(deps)),
    serve(RoleBindingsService, roleBindingsService(deps)),
    serve(IdentityProvidersService, identityProvidersService(deps, rule, seal)),
    serve(AccountAssociationsService, accountAssociationsService(deps)),
    serve(GroupInvitesService, groupInvitesService(deps)),
    serve(ReposService, reposService(deps)),
    serve(TagsService, tagsService(deps)),
    serve(AdvisoriesService, advisoriesService(deps, advisoryWriters(config))),
    serve(SubscriptionsService, subscriptionsService(deps, rule)),
    serve(SecurityTokenService, sts),
    serve(PingService, pingService),
    serve(PingOfV1, pingOfV1),
    serve(Auth, { ...authService(deps), ...registration }),
  ].flat()
  const ask = askOf(served)
  const askWithReadme = (readme: string) => askOf(serve(ReposService, reposService(deps, readme)))
  return [
    ...served,
    serve(Groups, groupsOfV1(ask)),
    serve(Identities, identitiesOfV1(deps, ask)),
    serve(Roles, rolesOfV1(ask)),
    serve(RoleBindings, roleBindingsOfV1(ask)),
    serve(IdentityProviders, identityProvidersOfV1(ask)),
    serve(GroupAccountAssociations, accountAssociationsOfV1(ask)),
    serve(GroupInvites, groupInvitesOfV1(ask)),
    serve(Registry, {
      ...reposOfV1(deps, ask, askWithReadme),
      ...tagsOfV1(ask),
      ...tagHistoryOfV1(deps),
    }),
    serve(Advisories, {
      ...advisoriesOfV1(deps, advisoryWriting(deps)),
      ...advisoryListOfV1(ask),
    }),
    serve(Subscriptions, subscriptionsOfV1(ask)),
  ].flat()
}

const advisoryWriting = (deps: Dependencies): AdvisoryWriting => ({
  create: (group, draft) => createAdvisory(deps, group, draft),
  revise: (uid, change) => reviseAdvisory(deps, uid, change),
  withdraw: (uid) => withdrawAdvisory(deps, uid),
})

/** Advisories as others read them. */
const advisoryWriters = ({ baseUrl }: Config): Writers => ({
  osv: (advisory, source) => writeOsv(advisory, source, source?.importTime) as JsonObject,
  openVex(advisory) {
    const { uid, author, events, updateTime } = advisory
    const id = `${baseUrl}/vulnerabilities/v2beta1/advisories/${uid}:openvex`
    const timestamp = updateTime ? timestampMs(updateTime) : 0
    return writeOpenVex([advisory], {
      id,
      author,
      timestamp,
      version: Math.max(1, events.length),
    }) as JsonObject
  },
})

/**
 * What v1 asks of v2 walks the corridor as a call of its own, for the caller who is known already; it is reported
 * once, as what was called.
 */
function askOf(endpoints: readonly Endpoint[]): Ask {
  const served = new Map<DescMethod, Endpoint>(endpoints.map((one) => [one.method.desc, one]))
  return async ({ demand, deadline, authorization, address, ifMatch }, method, request) => {
    const endpoint = served.get(method)
    if (!endpoint) throw new Error(`${method.parent.typeName}.${method.name} is not served`)
    const walk = openCorridor(
      () => demand.caller,
      () => {},
    )
    const timeout = deadline - Date.now()
    const envelope = { door: 'grpc', requestId: '', timeout, authorization, address, ifMatch } as const
    const reply = await walk(endpoint, envelope, () => create(method.input, request))
    return { message: fromBinary(method.output, reply.bytes()), etag: reply.etag }
  }
}

type Methods<S extends DescService> = {
  [name in keyof S['method']]: S['method'][name]['methodKind'] extends 'unary' ? Handler : StreamHandler
}

function serve<S extends DescService>(service: S, methods: Methods<S>): Endpoint[] {
  return describeMethods(service).map((method) => ({
    method,
    handler: methods[method.desc.localName as keyof S['method']],
  }))
}
