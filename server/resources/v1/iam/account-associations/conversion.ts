// Converts account associations between v1, where the field `group` identifies them, and v2, where `uid` does.
import { create } from '@bufbuild/protobuf'
import type { AccountAssociations } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { AccountAssociationsSchema } from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import type { AccountAssociation } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { AccountAssociationSchema } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'

export const associationFromV1 = (association: AccountAssociations, uid = ''): AccountAssociation =>
  create(AccountAssociationSchema, { uid, ...sharedFields(association) })

export const associationToV1 = (association: AccountAssociation): AccountAssociations =>
  create(AccountAssociationsSchema, { group: association.uid, ...sharedFields(association) })

/** All fields except `group` and `uid`. They have the same names in both versions. */
function sharedFields(association: AccountAssociations | AccountAssociation) {
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
