// Account associations as v1 has them.
import type {
  AccountAssociations,
  AccountAssociationsFilter,
  DeleteAccountAssociationsRequest,
} from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import {
  AccountAssociationsListSchema,
  AccountAssociationsSchema,
} from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import { listEvery } from '../../all-pages.ts'
import type { Ask } from '../../call-v2.ts'
import type { Renaming } from '../../convert.ts'
import { converted, deleted, inNames } from '../../convert.ts'
import { namesOfPlace, placeOf } from '../../place.ts'
import { associationOf, oldAssociationOf } from './conversion.ts'

const v2 = AccountAssociationsService.method

const names: Renaming[] = [[/^(uid|parent)$/, 'group']]

export function accountAssociationsOfV1(ask: Ask) {
  return {
    create(call: Call<AccountAssociations>) {
      const accountAssociation = associationOf(call.request)
      const asked = ask(call, v2.createAccountAssociation, { parent: call.request.group, accountAssociation })
      return converted(inNames(names, asked), AccountAssociationsSchema, oldAssociationOf)
    },

    update(call: Call<AccountAssociations>) {
      const accountAssociation = associationOf(call.request, call.request.group)
      const asked = ask(call, v2.updateAccountAssociation, {
        accountAssociation,
        updateMask: { paths: ['*'] },
      })
      return converted(inNames(names, asked), AccountAssociationsSchema, oldAssociationOf)
    },

    list(call: Call<AccountAssociationsFilter>) {
      const { group, name } = call.request
      const listing = listEvery(ask, call, {
        method: v2.listAccountAssociations,
        request: { uidp: placeOf(undefined, { id: group }), name },
        list: AccountAssociationsListSchema,
        items: ({ accountAssociations }) => accountAssociations.map(oldAssociationOf),
      })
      return inNames(namesOfPlace('group'), listing)
    },

    delete(call: Call<DeleteAccountAssociationsRequest>) {
      return deleted(inNames(names, ask(call, v2.deleteAccountAssociation, { uid: call.request.group })))
    },
  }
}
