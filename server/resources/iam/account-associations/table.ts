import { AccountAssociationSchema } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { kindOf } from '../../kind.ts'

export const accountAssociations = kindOf(AccountAssociationSchema, 'account_associations', {
  sortable: { group: 'uid' },
})
