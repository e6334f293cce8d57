import { AccountAssociationSchema } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { kindOf } from '../../kind.ts'

/** A row bears the uid of its group, so it is found, ordered and counted as the row of the group is. */
export const accountAssociations = kindOf(AccountAssociationSchema, 'account_associations', {
  isAtPlaces: true,
  sortable: { group: 'uid' },
})
