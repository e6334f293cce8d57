// Account associations of v1, known by their group, made into those of v2, and the other way round.
import { create } from '@bufbuild/protobuf'
import type { AccountAssociations } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { AccountAssociationsSchema } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import type { AccountAssociation } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { AccountAssociationSchema } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'

export const associationOf = (old: AccountAssociations, uid = ''): AccountAssociation =>
  create(AccountAssociationSchema, { uid, ...saidBy(old) })

export const oldAssociationOf = (association: AccountAssociation): AccountAssociations =>
  create(AccountAssociationsSchema, { group: association.uid, ...saidBy(association) })

/** All but the key bears one name in both versions. */
function saidBy(association: AccountAssociations | AccountAssociation) {
  const { name, description, amazon, google, chainguard, azure, github } = association
  return {
    ...{ name, description },
    ...(amazon && { amazon: { account: amazon.account } }),
    ...(google && { google: { projectId: google.projectId, projectNumber: google.projectNumber } }),
    ...(chainguard && { chainguard: { serviceBindings: chainguard.serviceBindings } }),
    ...(azure && { azure: { tenantId: azure.tenantId, clientIds: azure.clientIds } }),
    ...(github && { github: { appInstallations: installationsOf(github) } }),
  }
}

type GitHub = { appInstallations: { [app: string]: { installations: Installation[] } } }
type Installation = { installationId: bigint; name: string }

const installationsOf = ({ appInstallations }: GitHub) =>
  Object.fromEntries(
    Object.entries(appInstallations).map(([app, { installations }]) => [
      app,
      { installations: installations.map(({ installationId, name }) => ({ installationId, name })) },
    ]),
  )
