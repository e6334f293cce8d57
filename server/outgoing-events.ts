// Composition of CloudEvents: the kinds of resources that events show, and their messages in v1.
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { SubscriptionSchema as V1SubscriptionSchema } from '@stemma/api/gen/platform/events/subscription_pb.ts'
import { SubscriptionSchema } from '@stemma/api/gen/platform/events/v2beta1/subscription_pb.ts'
import { AccountAssociationsSchema as V1AssociationSchema } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { ExternalGroupRoleMappingSchema as V1MappingSchema } from '@stemma/api/gen/platform/iam/external_group_role_mapping_pb.ts'
import { GroupInviteSchema as V1InviteSchema } from '@stemma/api/gen/platform/iam/group_invite_pb.ts'
import { GroupSchema as V1GroupSchema } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { IdentitySchema as V1IdentitySchema } from '@stemma/api/gen/platform/iam/identity_pb.ts'
import { IdentityProviderSchema as V1ProviderSchema } from '@stemma/api/gen/platform/iam/identity_provider_pb.ts'
import { RoleBindingSchema as V1BindingSchema } from '@stemma/api/gen/platform/iam/role_binding_pb.ts'
import { RoleSchema as V1RoleSchema } from '@stemma/api/gen/platform/iam/role_pb.ts'
import { AccountAssociationSchema } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { ExternalGroupRoleMappingSchema } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { GroupInviteSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProviderSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import {
  RepoSchema as V1RepoSchema,
  TagSchema as V1TagSchema,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagSchema } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { AdvisorySchema as V1AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { services } from '@stemma/api/gen/services.ts'
import type { V1Conversion } from './cloud-events/event-catalog.ts'
import { openEventCatalog } from './cloud-events/event-catalog.ts'
import type { ToCloudEvent } from './cloud-events/to-cloud-event.ts'
import { openCloudEvents } from './cloud-events/to-cloud-event.ts'
import type { Config } from './config/config.ts'
import { resources } from './resource-list.ts'
import { subscriptionToV1 } from './resources/v1/events/subscriptions.ts'
import { associationToV1 } from './resources/v1/iam/account-associations/conversion.ts'
import { mappingToV1 } from './resources/v1/iam/external-group-role-mappings/conversion.ts'
import { inviteToV1 } from './resources/v1/iam/group-invites/conversion.ts'
import { groupToV1 } from './resources/v1/iam/groups/conversion.ts'
import { identityToV1 } from './resources/v1/iam/identities/conversion.ts'
import { providerToV1 } from './resources/v1/iam/identity-providers/conversion.ts'
import { bindingToV1 } from './resources/v1/iam/role-bindings/conversion.ts'
import { roleToV1 } from './resources/v1/iam/roles/conversion.ts'
import { repoToV1, tagToV1 } from './resources/v1/registry/conversion.ts'
import { advisoryToV1 } from './resources/v1/vulnerabilities/conversion.ts'

export type OutgoingEventsConfig = Pick<Config, 'eventTypePrefix' | 'vendorPrefixes' | 'baseUrl'>

const conversion = <V2 extends DescMessage, V1 extends DescMessage>(
  v2: V2,
  v1: V1,
  convert: (resource: MessageShape<V2>) => MessageShape<V1>,
): [string, V1Conversion] => [v2.typeName, { desc: v1, convert }]

/** Resources that v1 has, too. A repo has no readme here: its message in v2 does not contain it. */
const v1Conversions: ReadonlyMap<string, V1Conversion> = new Map([
  conversion(GroupSchema, V1GroupSchema, groupToV1),
  conversion(IdentitySchema, V1IdentitySchema, identityToV1),
  conversion(RoleSchema, V1RoleSchema, roleToV1),
  conversion(RoleBindingSchema, V1BindingSchema, bindingToV1),
  conversion(IdentityProviderSchema, V1ProviderSchema, providerToV1),
  conversion(ExternalGroupRoleMappingSchema, V1MappingSchema, mappingToV1),
  conversion(AccountAssociationSchema, V1AssociationSchema, associationToV1),
  conversion(GroupInviteSchema, V1InviteSchema, inviteToV1),
  conversion(SubscriptionSchema, V1SubscriptionSchema, subscriptionToV1),
  conversion(RepoSchema, V1RepoSchema, (repo) => repoToV1(repo, '')),
  conversion(TagSchema, V1TagSchema, tagToV1),
  conversion(AdvisorySchema, V1AdvisorySchema, advisoryToV1),
])

export const readEventCatalog = () =>
  openEventCatalog(
    services,
    new Map(resources.map(({ kind }) => [kind.table.name, kind.desc])),
    v1Conversions,
  )

/** The catalog is read at the first event, because reading the options of all methods takes some milliseconds. */
export function cloudEventsOf(config: OutgoingEventsConfig): ToCloudEvent {
  const { eventTypePrefix: typePrefix, vendorPrefixes, baseUrl } = config
  let toCloudEvent: ToCloudEvent | undefined
  return (event) => {
    toCloudEvent ??= openCloudEvents({ catalog: readEventCatalog(), typePrefix, vendorPrefixes, baseUrl })
    return toCloudEvent(event)
  }
}
