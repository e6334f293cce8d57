// The accounts in other systems that belong to a group and to the groups below it. A group has at most one association.
import type { AccountAssociationJson } from '@stemma/api/json/platform/iam/v2beta1/account_association'
import { api } from '../../api/api.ts'
import { useDenial, useDenialIn } from '../../api/permissions.ts'
import { read, useData, useRead } from '../../api/read.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { CreateAssociation, EditAssociation } from './association-form.tsx'
import { CheckAssociation, canBeChecked } from './check.tsx'

const readAssociations = (place: Place) =>
  read(api.accountAssociations.listAccountAssociations, {
    ...{ uidp: { descendantsOf: place.group }, ...pageOf(place) },
  })
/** The association of the group itself, which a list of descendants does not contain. */
const readOwn = ({ group }: Place) =>
  read(api.accountAssociations.listAccountAssociations, { uidp: { ids: [group] } })

export const load = (place: Place) => [readAssociations(place), readOwn(place)]

export default function AccountAssociations({ place }: PageProps) {
  const { accountAssociations: below = [], nextPageToken, totalCount } = useData(readAssociations(place))
  const { accountAssociations: own = [] } = useData(readOwn(place))
  const denial = useDenial(place.group)
  const rows = place.query.has('page') ? below : [...own, ...below]
  const about = rows.find(({ uid }) => uid === place.query.get('about'))
  const reasonIfAssociated =
    own.length > 0 ? 'This group already has an account association. Change it instead.' : undefined
  return (
    <>
      <PageHeader
        title="Accounts"
        about="Accounts in AWS, Google Cloud, Azure and GitHub that belong to this group and to groups below it. Programs can look up here which group an account belongs to."
        actions={
          <ButtonLink
            to={dialogPath(place, 'create')}
            tone="primary"
            icon="plus"
            disabledReason={denial('account_associations.create') ?? reasonIfAssociated}
          >
            Associate accounts
          </ButtonLink>
        }
      />
      {rows.length === 0 ? (
        <Empty icon="account" title="No accounts here">
          Record which cloud accounts belong to this group. Nothing is created in them.
        </Empty>
      ) : (
        <AssociationTable place={place} rows={rows} />
      )}
      <Pager
        place={place}
        nextPageToken={nextPageToken}
        total={String(Number(totalCount ?? 0) + own.length)}
        shown={rows.length}
      />
      <PageCommands
        stemma={`stemma account-associations list --descendants-of ${place.group}`}
        curl={{ path: `/iam/v2beta1/accountAssociations?uidp.descendants_of=${place.group}` }}
      />
      {isDialogOpen(place, 'create') && <CreateAssociation place={place} />}
      {isDialogOpen(place, 'edit') && <EditAssociation place={place} />}
      {isDialogOpen(place, 'check') && about && <CheckAssociation place={place} association={about} />}
      {isDialogOpen(place, 'delete') && about && <DeleteAssociation place={place} association={about} />}
    </>
  )
}

function AssociationTable({ place, rows }: PageProps & { rows: AccountAssociationJson[] }) {
  const ids = rows.map(({ uid = '' }) => uid)
  const denialIn = useDenialIn(place.group, ids, [
    'account_associations.update',
    'account_associations.delete',
  ])
  const { data } = useRead(read(api.groups.listGroups, { uidp: { ids }, pageSize: 200 }))
  const groupName = (uid: string) => data?.groups?.find((group) => group.uid === uid)?.name ?? '…'
  return (
    <section class="panel flush">
      <Table
        label="Account associations"
        rows={rows}
        uidOf={({ uid = '' }) => uid}
        nameOf={({ name = '' }) => name}
        columns={[
          {
            title: 'Name',
            cell: ({ uid, name }) => <Link to={dialogPath(place, 'edit', uid)}>{name}</Link>,
          },
          {
            title: 'Group',
            cell: ({ uid = '' }) => <Link to={paths.group(uid)}>{groupName(uid)}</Link>,
          },
          { title: 'Accounts', cell: (association) => accountsOf(association) },
          { title: 'Description', cell: ({ description }) => description, isSecondary: true },
        ]}
        actions={(association) => [
          {
            label: 'Check',
            to: dialogPath(place, 'check', association.uid),
            disabledReason: canBeChecked(association)
              ? undefined
              : 'Only accounts of AWS, Google Cloud and Azure can be checked.',
          },
          {
            label: 'Change',
            to: dialogPath(place, 'edit', association.uid),
            disabledReason: denialIn(association.uid ?? '', 'account_associations.update'),
          },
          {
            label: 'Delete',
            to: dialogPath(place, 'delete', association.uid),
            disabledReason: denialIn(association.uid ?? '', 'account_associations.delete'),
            isDanger: true,
          },
        ]}
      />
    </section>
  )
}

/** The accounts in a few words. */
function accountsOf({ amazon, google, azure, github }: AccountAssociationJson): string {
  const apps = Object.keys(github?.appInstallations ?? {}).length
  return [
    amazon && `AWS ${amazon.account}`,
    google && `Google ${google.projectId}`,
    azure && `Azure ${azure.tenantId}`,
    apps > 0 && `GitHub ${apps === 1 ? 'app' : `${apps} apps`}`,
  ]
    .filter(Boolean)
    .join(', ')
}

function DeleteAssociation({ place, association }: PageProps & { association: AccountAssociationJson }) {
  const { run, isRunning, error } = useWrite(api.accountAssociations.deleteAccountAssociation, {
    ...{ done: 'Account association deleted', after: () => closeDialog(place) },
  })
  return (
    <ConfirmDelete
      place={place}
      kind="account association"
      name={association.name ?? ''}
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={() => void run({ uid: association.uid ?? '' })}
    >
      <p>The accounts themselves are not changed.</p>
    </ConfirmDelete>
  )
}
