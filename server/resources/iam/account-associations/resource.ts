// Account associations: the accounts of a group in clouds and other systems. A group has at most one association, which
// has the uid of the group.
import { create } from '@bufbuild/protobuf'
import type {
  AccountAssociation,
  CheckAccountAssociationRequest,
  CreateAccountAssociationRequest,
  ListAccountAssociationsRequest,
  UpdateAccountAssociationRequest,
} from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import {
  AccountAssociationSchema,
  AccountAssociationsService,
  AccountProviderType,
  CheckAccountAssociationResponseSchema,
  CheckStatus,
} from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { invalidField, notFound } from '../../../aip/errors.ts'
import { entryPath } from '../../../aip/validate.ts'
import { admitToRead } from '../../../policy/admit.ts'
import type { Grants } from '../../../policy/grants.ts'
import type { Call } from '../../../rpc/call.ts'
import { raw } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { messageReply, withWarnings } from '../../../wire/reply.ts'
import type { Warning } from '../../../wire/warning.ts'
import { createResource } from '../../create.ts'
import { deleteResource } from '../../delete.ts'
import type { Dependencies } from '../../dependencies.ts'
import { getResource } from '../../get.ts'
import { equalTo, listResources } from '../../list.ts'
import { defineResource } from '../../resource.ts'
import { readResource } from '../../stored-resource.ts'
import { updateResource } from '../../update.ts'
import { requireBindable } from '../delegation.ts'
import { accountAssociations } from './table.ts'

function accountAssociationsMethods(deps: Dependencies) {
  const { store } = deps
  return {
    getAccountAssociation: (call: Call) => getResource(store, accountAssociations, call),

    listAccountAssociations: (call: Call<ListAccountAssociationsRequest>) =>
      listResources(deps, accountAssociations, call, {
        filters: equalTo(raw('name'), call.request.name),
      }),

    createAccountAssociation: (call: Call<CreateAccountAssociationRequest>) =>
      createResource(deps, accountAssociations, call, {
        uid: call.request.parent,
        conflict: () => 'the group has an account association already',
        beforeCreate: (draft, { grants }) => requireBindableIdentities(grants, call.demand.scope, draft),
        complete: (reply) => withWarnings(reply, warningsAbout(call.request.accountAssociation)),
      }),

    async updateAccountAssociation(call: Call<UpdateAccountAssociationRequest>) {
      let warnings: Warning[] = []
      const reply = await updateResource(deps, accountAssociations, call, {
        *beforeUpdate({ current, merged, grants }) {
          const isSameNumber = merged.google?.projectNumber === current.google?.projectNumber
          warnings = isSameNumber ? [] : warningsAbout(merged)
          yield* requireBindableIdentities(grants, call.demand.scope, merged, current)
        },
      })
      return withWarnings(reply, warnings)
    },

    deleteAccountAssociation: (call: Call) =>
      deleteResource(deps, accountAssociations, call, { isIdempotent: true }),

    checkAccountAssociation: (call: Call<CheckAccountAssociationRequest>) =>
      store.read(function* () {
        yield* admitToRead(call.demand)
        const { uid, providerType } = call.request
        const association = yield* readResource(accountAssociations, uid)
        if (!association) throw notFound(AccountAssociationSchema.typeName, uid)
        const result = check(association, providerType)
        return messageReply(
          CheckAccountAssociationResponseSchema,
          create(CheckAccountAssociationResponseSchema, { status: CheckStatus.NOT_READY, ...result }),
        )
      }),
  }
}

export const accountAssociationsResource = defineResource({
  kind: accountAssociations,
  service: AccountAssociationsService,
  methods: accountAssociationsMethods,
})

/**
 * Services act as the identities in `service_bindings`, so the caller must be allowed to bind these identities. Entries
 * of `current` were checked before, and their identities may have been deleted since.
 */
function* requireBindableIdentities(
  grants: Grants,
  group: string,
  { chainguard }: AccountAssociation,
  current?: AccountAssociation,
): Work<void> {
  const before = new Map(Object.entries(current?.chainguard?.serviceBindings ?? {}))
  const entries = Object.entries(chainguard?.serviceBindings ?? {})
  for (const [service, uid] of entries.filter(([name, value]) => before.get(name) !== value))
    yield* requireBindable(grants, group, uid, entryPath('chainguard.service_bindings', service))
}

const projectNumberFault = ({ google }: AccountAssociation): string | undefined =>
  google && !/^[0-9]{1,20}$/.test(google.projectNumber)
    ? 'must be the number of a Google Cloud project, which has only digits'
    : undefined

/** Published configurations contain project numbers with other characters than digits, so these are stored. */
function warningsAbout(association: AccountAssociation | undefined): Warning[] {
  const fault = association && projectNumberFault(association)
  if (fault === undefined) return []
  const description = `${fault}; the account cannot be used until this is corrected`
  return [{ field: 'google.project_number', description }]
}

const clouds: { [type: number]: { name: string; field: 'google' | 'amazon' | 'azure' } } = {
  [AccountProviderType.GOOGLE]: { name: 'Google Cloud', field: 'google' },
  [AccountProviderType.AMAZON]: { name: 'AWS', field: 'amazon' },
  [AccountProviderType.AZURE]: { name: 'Azure', field: 'azure' },
}

/** The server cannot call clouds yet, so no account is ever ready. The reason names the first obstacle. */
function check(
  association: AccountAssociation,
  type: AccountProviderType,
): { reason: string; message: string } {
  const cloud = clouds[type]
  if (!cloud) throw invalidField('provider_type', 'must be one of the account provider types')
  const { name, field } = cloud
  if (!association[field])
    return { reason: 'NOT_ASSOCIATED', message: `the association names no ${name} account` }
  const fault = field === 'google' ? projectNumberFault(association) : undefined
  if (fault) return { reason: 'INVALID_ACCOUNT', message: `google.project_number ${fault}` }
  return { reason: 'CLOUD_NOT_REACHABLE', message: `this server has no way to reach ${name}` }
}
