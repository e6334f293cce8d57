import { create } from '@bufbuild/protobuf'
import type {
  AccountAssociations,
  AccountAssociationsCheckRequest,
  AccountAssociationsFilter,
  AccountAssociationsStatus_State,
  DeleteAccountAssociationsRequest,
} from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import {
  AccountAssociationsListSchema,
  AccountAssociationsSchema,
  AccountAssociationsStatusSchema,
  GroupAccountAssociations,
} from '@stemma/api/gen/platform/iam/account_associations_pb.ts'
import type { AccountProviderType } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import type { Call } from '../../../../rpc/call.ts'
import { defineService } from '../../../resource.ts'
import { listAllPages } from '../../all-pages.ts'
import { convertReply, deleteReply } from '../../convert-reply.ts'
import type { V1Dependencies } from '../../dependencies.ts'
import type { FieldRename } from '../../error-fields.ts'
import { renameErrorFields } from '../../error-fields.ts'
import { uidpFieldRenames, uidpFilter } from '../../uidp-filter.ts'
import { associationFromV1, associationToV1 } from './conversion.ts'

const v2 = AccountAssociationsService.method

const renames: FieldRename[] = [
  [/^(uid|parent)$/, 'group'],
  [/^provider_type$/, 'account_type'],
]

export const accountAssociationsV1 = defineService({ service: GroupAccountAssociations, methods })

function methods(deps: V1Dependencies) {
  const { callV2 } = deps
  return {
    create(call: Call<AccountAssociations>) {
      const accountAssociation = associationFromV1(call.request)
      const reply = callV2(call, v2.createAccountAssociation, {
        parent: call.request.group,
        accountAssociation,
      })
      return convertReply(renameErrorFields(renames, reply), AccountAssociationsSchema, associationToV1)
    },

    update(call: Call<AccountAssociations>) {
      const accountAssociation = associationFromV1(call.request, call.request.group)
      const reply = callV2(call, v2.updateAccountAssociation, {
        accountAssociation,
        updateMask: { paths: ['*'] },
      })
      return convertReply(renameErrorFields(renames, reply), AccountAssociationsSchema, associationToV1)
    },

    list(call: Call<AccountAssociationsFilter>) {
      const { group, name } = call.request
      const listing = listAllPages(deps, call, {
        method: v2.listAccountAssociations,
        request: { uidp: uidpFilter(undefined, { id: group }), name },
        list: AccountAssociationsListSchema,
        items: ({ accountAssociations }) => accountAssociations.map(associationToV1),
      })
      return renameErrorFields(uidpFieldRenames('group'), listing)
    },

    delete(call: Call<DeleteAccountAssociationsRequest>) {
      const reply = callV2(call, v2.deleteAccountAssociation, { uid: call.request.group })
      return deleteReply(renameErrorFields(renames, reply))
    },

    /** The enums of both versions have the same numbers. */
    check(call: Call<AccountAssociationsCheckRequest>) {
      const { group: uid, accountType } = call.request
      const reply = callV2(call, v2.checkAccountAssociation, {
        uid,
        providerType: accountType as number as AccountProviderType,
      })
      return convertReply(
        renameErrorFields(renames, reply),
        AccountAssociationsStatusSchema,
        ({ status, reason, message }) =>
          create(AccountAssociationsStatusSchema, {
            ready: status as number as AccountAssociationsStatus_State,
            reason,
            message,
          }),
      )
    },
  }
}
