// The access matrix: a row for each method of the contract states which callers may call it. Rows of standard methods
// are derived from the options of these methods.
import type { JsonObject } from '@bufbuild/protobuf'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { OrganizationsService } from '@stemma/api/gen/platform/server/v2beta1/organization_pb.ts'
import { PeopleService } from '@stemma/api/gen/platform/server/v2beta1/person_pb.ts'
import { ServerService } from '@stemma/api/gen/platform/server/v2beta1/server_pb.ts'
import { exampleOf } from '@stemma/api/reference/examples.ts'
import { parentOf } from '../../server/aip/uid.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { MatrixContext } from './matrix-context.ts'
import { advisory, advisoryEvent, createAdvisory, createIn, mappingIn } from './matrix-context.ts'
import type { MatrixRow } from './matrix-row.ts'
import { anyToken, editors, everyone, owners, readers } from './matrix-row.ts'
import { standardRows } from './standard-rows.ts'

const viewer = builtInRole('viewer').uid
/** The claims of the identity that `createIn` creates. */
const identityClaims = exampleOf(IdentitySchema, 'create').claimMatch as JsonObject

const byUid = (resource: string) => async (context: MatrixContext) => ({
  uid: await createIn(context, resource),
})
const exportRow = (resource: string): MatrixRow => ({
  request: async (context) => ({ uidp: { ids: [await createIn(context, resource)] } }),
  codes: anyToken,
  visible: [0, 0, 0, 1, 1, 1, 1],
})
/** All advisories of the matrix are about the same package and vulnerability. */
const advisoryRow = (request: JsonObject): MatrixRow => ({
  async request(context) {
    await createIn(context, 'Advisory')
    return request
  },
  codes: anyToken,
  visible: [0, 0, 0, 1, 1, 1, 1],
})
const documentsRow = advisoryRow({ id: advisory.artifactName })
const vulnerabilitiesRow = advisoryRow({ ids: advisory.aliases })
const bindingOfV1 = async (context: MatrixContext) => ({
  identity: await createIn(context, 'Identity'),
  role: viewer,
})
const ofRepo = async (context: MatrixContext) => ({ repoId: await createIn(context, 'Repo') })
const chart = 'oci://charts.test/static'
/** Calls about an image that the repo does not have (code 5). */
const imageRow = (repoField = 'repoId'): MatrixRow => ({
  request: async (context) => ({
    [repoField]: await createIn(context, 'Repo'),
    digest: `sha256:${'a'.repeat(64)}`,
  }),
  codes: [16, 16, 7, 5, 5, 5, 5],
})
const accountsOfV1 = { name: 'accounts', amazon: { account: '123456789012' } }
const associationGroup = async (context: MatrixContext) => ({
  group: await createIn(context, 'AccountAssociation'),
})

/** The callers of the matrix are workloads, which have no account. */
const accountRows: Record<string, MatrixRow> = Object.fromEntries(
  Object.entries<JsonObject>({
    ...{ GetAccount: {}, ListSessions: {}, EndSessions: {}, MakeRecoveryCodes: {} },
    ...{ RenameAccount: { name: 'somebody' }, EndSession: { id: 'id' } },
    ChangePassword: { currentPassword: 'current', newPassword: 'new' },
    ...{ BeginAuthenticatorApp: {}, ConfirmAuthenticatorApp: { code: '123456' }, RemoveAuthenticatorApp: {} },
    ...{ BeginPasskey: {}, RegisterPasskey: { name: 'laptop', responseJson: '{}' } },
    ...{ RenamePasskey: { id: 'id', name: 'laptop' }, RemovePasskey: { id: 'id' } },
  }).map(([name, request]) => [
    `platform.iam.v2beta1.AccountService.${name}`,
    { request: () => request, codes: [16, 16, 7, 7, 7, 7, 7] },
  ]),
)

/** The callers of the matrix are workloads, which cannot be operators of the server. */
const operatorRows: Record<string, MatrixRow> = Object.fromEntries(
  [PeopleService, OrganizationsService, ServerService].flatMap(({ typeName, methods }) =>
    methods.map(({ name, input }) => [
      `${typeName}.${name}`,
      {
        request: async () => (input.field.uid ? { uid: '0'.repeat(40) } : {}),
        codes: [16, 16, 7, 7, 7, 7, 7],
      },
    ]),
  ),
)

/** A question about an identity that does not exist. */
const somebodyAt = (resource: string) => ({ identity: 'a'.repeat(40), capability: 'groups.list', resource })

/**
 * The SCIM calls of one API version. A new provider has no token (code 5). Turning SCIM on needs
 * two owners, but the organization has one (code 9).
 */
const scimRows = (service: string, field: string): Record<string, MatrixRow> => {
  const row = (body: JsonObject, code: number): MatrixRow => ({
    request: async (context) => ({ [field]: await createIn(context, 'IdentityProvider'), ...body }),
    codes: [16, 16, 7, 7, 7, code, code],
  })
  return {
    [`${service}.GenerateScimToken`]: row({}, 0),
    [`${service}.RegenerateScimToken`]: row({ etag: '0' }, 5),
    [`${service}.RevokeScimToken`]: row({}, 5),
    [`${service}.SetScimEnabled`]: row({ enabled: true, etag: '0' }, 9),
  }
}

/** Rows of the other methods, and of standard methods whose derived row would be wrong. */
const exceptions: Record<string, MatrixRow> = {
  // If the caller is `owner here`, the group is not empty: it contains the caller's role binding.
  'platform.iam.v2beta1.GroupsService.DeleteGroup': {
    request: ({ here }) => ({ uid: here }),
    codes: [16, 16, 7, 7, 7, 9, 0],
  },
  // None of the callers has an e-mail address, by which an organization is found.
  'platform.iam.v2beta1.GroupsService.LookupGroup': { request: () => ({}), codes: [16, 16, 5, 5, 5, 5, 5] },
  'platform.iam.v2beta1.GroupsService.CheckEligibility': { request: () => ({}), codes: anyToken },
  'platform.iam.v2beta1.GroupsService.RequestGroupAccess': {
    request: ({ organization }) => ({ groupUid: organization }),
    codes: [16, 16, 5, 5, 5, 5, 5],
  },
  // The limits of a group are set by owners of the group above.
  'platform.iam.v2beta1.GroupsService.SetGroupLimits': {
    request: ({ here }) => ({ uid: here, resourceLimits: { repos: 5 } }),
    codes: [16, 16, 7, 7, 7, 7, 0],
  },
  'platform.iam.v2beta1.GroupsService.GetGroupUsage': {
    request: ({ here }) => ({ uid: here }),
    codes: readers,
  },
  'platform.iam.Groups.Delete': { request: ({ here }) => ({ id: here }), codes: [16, 16, 7, 7, 7, 9, 0] },
  'platform.iam.Groups.LookupGroup': { request: () => ({}), codes: [16, 16, 5, 5, 5, 5, 5] },
  'platform.iam.Groups.CheckEligibility': { request: () => ({}), codes: anyToken },
  'platform.iam.Groups.RequestGroupAccess': {
    request: ({ organization }) => ({ groupId: organization }),
    codes: [16, 16, 5, 5, 5, 5, 5],
  },

  'platform.iam.v2beta1.GroupAccessRequestsService.ApproveGroupAccessRequest': {
    request: async (context) => ({ uid: await createIn(context, 'GroupAccessRequest'), roleUid: viewer }),
    codes: owners,
  },

  'platform.audit.v2beta1.AuditEntriesService.ExportAuditEntries': {
    request: ({ here }) => ({ uidp: { descendantsOf: here } }),
    codes: anyToken,
  },
  'platform.events.v2beta1.DeliveriesService.ListDeliveries': {
    request: async (context) => ({ subscription: parentOf(await createIn(context, 'Delivery')) }),
    codes: readers,
  },
  'platform.events.v2beta1.DeliveriesService.RedeliverEvent': { request: byUid('Delivery'), codes: editors },
  'platform.events.v2beta1.SubscriptionsService.RotateSubscriptionSecret': {
    request: byUid('Subscription'),
    codes: editors,
  },
  'platform.events.v2beta1.SubscriptionsService.TestSubscription': {
    request: byUid('Subscription'),
    codes: editors,
  },
  'platform.events.v2beta1.SubscriptionsService.ReplaySubscription': {
    request: async (context) => ({
      uid: await createIn(context, 'Subscription'),
      since: new Date(Date.now() - 60_000).toISOString(),
    }),
    codes: editors,
  },

  'platform.registry.v2beta1.ReposService.PreviewRetention': { request: byUid('Repo'), codes: readers },
  'platform.iam.v2beta1.IdentitiesService.LookupIdentity': {
    request: () => ({ issuer: 'https://issuer.test', subject: 'somebody' }),
    codes: anyToken,
  },
  // It is about the caller's own identity.
  'platform.iam.v2beta1.IdentitiesService.UpdateIdentityMetadata': {
    request: () => ({ identityMetadata: { company: 'acme' } }),
    codes: anyToken,
  },
  'platform.events.Identities.UpdateMetadata': {
    request: () => ({ onboardingQuestions: { companyName: 'acme' } }),
    codes: anyToken,
  },
  // Questions about others.
  'platform.iam.v2beta1.AccessService.CheckAccess': {
    request: ({ here }) => ({ ...somebodyAt(here) }),
    codes: readers,
  },
  'platform.iam.v2beta1.AccessService.ExplainAccess': {
    request: ({ here }) => ({ ...somebodyAt(here) }),
    codes: readers,
  },
  'platform.iam.v2beta1.AccessService.BatchCheckAccess': {
    request: ({ here }) => ({ questions: [somebodyAt(here)] }),
    codes: readers,
  },
  'platform.iam.v2beta1.AccessService.ListAccess': {
    request: ({ here }) => ({ resource: here }),
    codes: readers,
  },
  'platform.iam.v2beta1.AccessService.ListReach': {
    request: () => ({ identity: 'a'.repeat(40) }),
    codes: anyToken,
  },
  // The operator has set no documents, so owners get a failed precondition.
  'platform.iam.v2beta1.TermsService.AcceptTerms': {
    request: ({ here }) => ({ group: here, documentIds: ['terms-of-use.v1'] }),
    codes: [16, 16, 7, 7, 7, 9, 9],
  },
  'platform.iam.v2beta1.TermsService.ListTermsAcceptances': {
    request: ({ here }) => ({ group: here }),
    codes: readers,
  },
  'platform.iam.Terms.AcceptTerms': {
    request: ({ here }) => ({ group: here, documentIds: ['terms-of-use.v1'] }),
    codes: [16, 16, 7, 7, 7, 9, 9],
  },
  'platform.iam.Terms.ListAccepted': { request: ({ here }) => ({ group: here }), codes: readers },
  // Of workloads, only the owners that `stemmad bootstrap` creates may create organizations.
  'platform.iam.GroupInvites.CreateWithGroup': {
    request: () => ({ group: 'new', ttl: '600s' }),
    codes: [16, 16, 0, 7, 7, 7, 0],
  },
  // Callers that may list the identity find it.
  'platform.iam.Identities.Lookup': {
    async request(context) {
      await createIn(context, 'Identity')
      return identityClaims
    },
    codes: [16, 16, 5, 0, 0, 0, 0],
  },

  'platform.iam.v2beta1.RoleBindingsService.UpdateRoleBinding': {
    request: async (context) => ({
      roleBinding: { uid: await createIn(context, 'RoleBinding'), roleUid: builtInRole('editor').uid },
    }),
    codes: owners,
  },
  'platform.iam.v2beta1.RoleBindingsService.BatchCreateRoleBindings': {
    request: async (context) => ({
      parent: context.here,
      requests: [{ roleBinding: { identityUid: await createIn(context, 'Identity') } }],
      roleUid: viewer,
    }),
    codes: owners,
  },
  'platform.iam.RoleBindings.Update': {
    request: async (context) => ({
      id: await createIn(context, 'RoleBinding'),
      ...(await bindingOfV1(context)),
    }),
    codes: owners,
  },
  'platform.iam.RoleBindings.CreateBatch': {
    request: async (context) => ({ parent: context.here, roleBindings: [await bindingOfV1(context)] }),
    codes: owners,
  },

  'platform.iam.v2beta1.ExternalGroupRoleMappingsService.CreateExternalGroupRoleMapping': {
    request: async (context) => ({
      parent: await createIn(context, 'IdentityProvider'),
      externalGroupRoleMapping: mappingIn(context),
    }),
    codes: owners,
  },
  'platform.iam.v2beta1.ExternalGroupRoleMappingsService.BatchDeleteExternalGroupRoleMappings': {
    async request(context) {
      const uid = await createIn(context, 'ExternalGroupRoleMapping')
      return { parent: parentOf(uid), names: [uid] }
    },
    codes: owners,
  },
  'platform.iam.ExternalGroupRoleMappings.Create': {
    async request(context) {
      const { roleUid: roleUidp, ...mapping } = mappingIn(context)
      return { parentId: await createIn(context, 'IdentityProvider'), mapping: { ...mapping, roleUidp } }
    },
    codes: owners,
  },
  'platform.iam.ExternalGroupRoleMappings.BatchDelete': {
    async request(context) {
      const uid = await createIn(context, 'ExternalGroupRoleMapping')
      return { parentId: parentOf(uid), ids: [uid] }
    },
    codes: owners,
  },

  'platform.iam.v2beta1.AccountAssociationsService.CheckAccountAssociation': {
    request: async (context) => ({
      uid: await createIn(context, 'AccountAssociation'),
      providerType: 'ACCOUNT_PROVIDER_TYPE_AMAZON',
    }),
    codes: readers,
  },
  'platform.iam.GroupAccountAssociations.Create': {
    request: ({ here }) => ({ group: here, ...accountsOfV1 }),
    codes: owners,
  },
  'platform.iam.GroupAccountAssociations.Update': {
    request: async (context) => ({ ...(await associationGroup(context)), ...accountsOfV1 }),
    codes: owners,
  },
  'platform.iam.GroupAccountAssociations.List': {
    request: associationGroup,
    codes: anyToken,
    visible: [0, 0, 0, 1, 1, 1, 1],
  },
  'platform.iam.GroupAccountAssociations.Delete': { request: associationGroup, codes: owners },
  'platform.iam.GroupAccountAssociations.Check': {
    request: async (context) => ({ ...(await associationGroup(context)), accountType: 'AMAZON' }),
    codes: readers,
  },

  ...scimRows('platform.iam.v2beta1.IdentityProvidersService', 'identityProviderUid'),
  ...scimRows('platform.iam.IdentityProviders', 'identityProviderId'),

  'platform.registry.v2beta1.ReposService.GetRepoReadme': { request: byUid('Repo'), codes: readers },
  'platform.registry.v2beta1.ReposService.UpdateRepoReadme': {
    request: async (context) => ({
      repoReadme: { uid: await createIn(context, 'Repo'), content: '# changed' },
    }),
    codes: editors,
  },
  'platform.registry.Registry.GetRepoCountBySource': {
    request: async (context) => ({ id: await createIn(context, 'Repo') }),
    codes: readers,
  },
  'platform.registry.Registry.GetRepoTagsSummary': { request: ofRepo, codes: readers },
  'platform.registry.Registry.GetUpdateStatus': { request: ofRepo, codes: readers },
  'platform.registry.v2beta1.ImagesService.GetArchitectures': imageRow('repoUid'),
  'platform.registry.v2beta1.ImagesService.GetSize': imageRow('repoUid'),
  'platform.registry.Registry.GetArchs': imageRow(),
  'platform.registry.Registry.GetSize': imageRow(),
  'platform.registry.Registry.GetImageConfig': imageRow(),
  'platform.registry.Registry.GetRawSbom': imageRow(),
  'platform.registry.Registry.GetChart': imageRow(),
  'platform.registry.Registry.ListManifestMetadata': {
    request: async (context) => ({ ...(await ofRepo(context)), digests: [`sha256:${'a'.repeat(64)}`] }),
    codes: [16, 16, 7, 5, 5, 5, 5],
  },
  'platform.registry.Registry.GetManifestDigestCount': {
    request: async (context) => ({ parentId: await createIn(context, 'Repo') }),
    codes: readers,
  },
  // No package versions are imported, so no tag is known to have an end of life.
  'platform.registry.Registry.ListEolTags': {
    request: async (context) => ({ uidp: { ids: [await createIn(context, 'Tag')] } }),
    codes: anyToken,
    visible: [0, 0, 0, 0, 0, 0, 0],
  },
  // The call names no group: a capability in another organization is enough.
  'platform.registry.Registry.GetPackageVersionMetadata': {
    request: () => ({ package: 'unknown' }),
    codes: [16, 16, 5, 5, 5, 5, 5],
  },
  'platform.registry.Registry.CreateDeployment': {
    request: async (context) => ({ parentId: await createIn(context, 'Repo'), charts: [{ repo: chart }] }),
    codes: owners,
  },
  'platform.registry.Registry.UpdateDeployment': {
    request: async (context) => ({ ...(await ofRepo(context)), charts: [{ repo: chart }] }),
    codes: owners,
  },
  'platform.registry.Registry.GetDeployment': { request: ofRepo, codes: readers },
  // Roles in a group below the organization do not apply to it.
  'platform.registry.Registry.GetRegistrySettings': {
    request: ({ organization }) => ({ registryId: organization }),
    codes: [16, 16, 7, 7, 7, 7, 0],
  },
  'platform.registry.Registry.UpdateRegistrySettings': {
    request: ({ organization }) => ({ registryId: organization, uniqueTags: true }),
    codes: [16, 16, 7, 7, 7, 7, 0],
  },
  'platform.registry.Registry.ListTagHistory': {
    request: async (context) => ({ parentId: await createIn(context, 'Tag') }),
    codes: readers,
  },

  'platform.vulnerabilities.v2beta1.AdvisoriesService.GetAdvisoryOsv': {
    request: byUid('Advisory'),
    codes: readers,
  },
  'platform.vulnerabilities.v2beta1.AdvisoriesService.GetAdvisoryOpenVex': {
    request: byUid('Advisory'),
    codes: readers,
  },
  'platform.events.v2beta1.EventsService.TailEvents': {
    request: ({ here }) => ({ group: here }),
    codes: editors,
  },
  'platform.vulnerabilities.v2beta1.AdvisoriesService.ExportAdvisoriesOsv': exportRow('Advisory'),
  'platform.vulnerabilities.v2beta1.AdvisoriesService.ExportAdvisoriesOpenVex': exportRow('Advisory'),
  'platform.advisory.v2beta1.SecurityAdvisoryService.ListDocuments': documentsRow,
  'platform.advisory.v2beta1.SecurityAdvisoryService.ListVulnerabilityMetadata': vulnerabilitiesRow,
  'platform.advisory.SecurityAdvisory.ListDocuments': documentsRow,
  'platform.advisory.SecurityAdvisory.ListVulnerabilityMetadata': vulnerabilitiesRow,
  // The example of the reference has an id, and ids are unique, so it cannot be created for every caller.
  'platform.vulnerabilities.v1.Advisories.Create': {
    request: ({ here }) => ({ parentId: here, advisory }),
    codes: owners,
  },
  'platform.vulnerabilities.v1.Advisories.Update': {
    request: async (context) => ({ id: await createIn(context, 'Advisory'), ...advisory, aliases: [] }),
    codes: owners,
  },
  'platform.vulnerabilities.v1.Advisories.CreateAdvisoryEvent': {
    request: async (context) => ({ parentId: await createIn(context, 'Advisory'), advisoryEvent }),
    codes: owners,
  },
  'platform.vulnerabilities.v1.Advisories.ListAdvisoryEvents': {
    request: async (context) => ({ parentId: await createIn(context, 'Advisory') }),
    codes: readers,
  },
  'platform.vulnerabilities.v1.Advisories.UpdateAdvisoryEvent': {
    request: async (context) => ({
      id: (await createAdvisory(context)).event,
      ...advisoryEvent,
      status: 'APPROVED',
    }),
    codes: owners,
  },

  // An access token can be exchanged for a token of its own identity, but is no refresh token.
  'platform.oidc.SecurityTokenService.Exchange': { request: () => ({}), codes: [16, 16, 0, 0, 0, 0, 0] },
  'platform.oidc.SecurityTokenService.ExchangeRefreshToken': {
    request: () => ({}),
    codes: [16, 16, 16, 16, 16, 16, 16],
  },

  'platform.ping.PingService.Ping': { request: () => ({}), codes: everyone },
  'platform.ping.v2beta1.PingService.Ping': { request: () => ({}), codes: everyone },

  // None of the callers is a person, and no sign-in is under way.
  'platform.auth.Auth.Register': { request: () => ({}), codes: [16, 16, 7, 7, 7, 7, 7] },
  'platform.auth.Auth.GetHeadlessSession': {
    request: () => ({ code: 'CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }),
    codes: [5, 5, 5, 5, 5, 5, 5],
  },
  ...accountRows,
  ...operatorRows,
  'platform.auth.Auth.Validate': { request: () => ({}), codes: anyToken },
  'platform.auth.Auth.Delete': {
    request: () => ({ id: '0'.repeat(40) }),
    codes: [16, 16, 7, 7, 7, 7, 7],
  },
}

export const matrix: Record<string, MatrixRow> = { ...standardRows, ...exceptions }
