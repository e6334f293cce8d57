// Every service of v1. Most methods convert requests and replies, and call a method of v2.
import type { Dependencies } from './resources/dependencies.ts'
import { admitToCreateWithGroup, createWithGroup } from './resources/iam/group-invites/create-with-group.ts'
import { readRepoChart } from './resources/registry/content/images/find-chart.ts'
import {
  countManifestsBelow,
  findSboms,
  readImageConfig,
} from './resources/registry/content/images/image-content.ts'
import type { AnyService } from './resources/resource.ts'
import { securityAdvisoryV1 } from './resources/v1/advisory/security-advisory.ts'
import type { AdvisoryWrites, ImageReads, OwnerInvites, V1Dependencies } from './resources/v1/dependencies.ts'
import { eventIdentitiesV1 } from './resources/v1/events/identities.ts'
import { subscriptionsV1 } from './resources/v1/events/subscriptions.ts'
import { accountAssociationsV1 } from './resources/v1/iam/account-associations/account-associations.ts'
import { externalGroupRoleMappingsV1 } from './resources/v1/iam/external-group-role-mappings/external-group-role-mappings.ts'
import { groupInvitesV1 } from './resources/v1/iam/group-invites/group-invites.ts'
import { groupsV1 } from './resources/v1/iam/groups/groups.ts'
import { identitiesV1 } from './resources/v1/iam/identities/identities.ts'
import { identityProvidersV1 } from './resources/v1/iam/identity-providers/identity-providers.ts'
import { roleBindingsV1 } from './resources/v1/iam/role-bindings/role-bindings.ts'
import { rolesV1 } from './resources/v1/iam/roles/roles.ts'
import { termsV1 } from './resources/v1/iam/terms/terms.ts'
import { registryV1 } from './resources/v1/registry/registry.ts'
import { advisoriesV1 } from './resources/v1/vulnerabilities/advisories.ts'
import {
  createAdvisory,
  reviseAdvisory,
  withdrawAdvisory,
} from './resources/vulnerabilities/advisories/write.ts'

export const v1Services: readonly AnyService<V1Dependencies>[] = [
  groupsV1,
  identitiesV1,
  rolesV1,
  roleBindingsV1,
  identityProvidersV1,
  externalGroupRoleMappingsV1,
  accountAssociationsV1,
  groupInvitesV1,
  termsV1,
  registryV1,
  advisoriesV1,
  securityAdvisoryV1,
  subscriptionsV1,
  eventIdentitiesV1,
]

export const ownerInvitesOf = (deps: Dependencies): OwnerInvites => ({
  admit: (call) => admitToCreateWithGroup(deps, call),
  create: (call, grants) => createWithGroup(deps, call, grants),
})

export const advisoryWritesOf = (deps: Dependencies): AdvisoryWrites => ({
  create: (access, group, draft) => createAdvisory({ ...deps, access }, group, draft),
  revise: (access, uid, change) => reviseAdvisory({ ...deps, access }, uid, change),
  withdraw: (access, uid) => withdrawAdvisory({ ...deps, access }, uid),
})

export const imageReadsOf = (deps: Dependencies): ImageReads => ({
  readConfig: (demand, image) => readImageConfig(deps, demand, image),
  findSboms: (demand, images) => findSboms(deps, demand, images),
  readChart: (demand, digest) => readRepoChart(deps, demand, digest),
  countManifests: (demand) => countManifestsBelow(deps, demand),
})
