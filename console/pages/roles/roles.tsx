// The roles that can be bound in a group: built-in ones, and those of this organization.
import { api } from '../../api/api.ts'
import { useDenial, useDenialIn } from '../../api/permissions.ts'
import { useData } from '../../api/read.ts'
import { isBuiltIn, readRoles, rolesFor } from '../../api/roles.ts'
import { parentOf } from '../../api/uids.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { SameWith } from '../../ui/code-block.tsx'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Table } from '../../ui/table.tsx'
import { CreateRole } from './role-form.tsx'

export const load = () => [readRoles()]

export default function Roles({ place }: PageProps) {
  const { roles: all = [] } = useData(readRoles())
  const roles = rolesFor(place.group, all)
  const denial = useDenial(place.group)
  const denialIn = useDenialIn(
    place.group,
    roles.map(({ uid = '' }) => parentOf(uid)),
    ['roles.delete'],
  )
  const about = roles.find(({ uid }) => uid === place.query.get('about'))
  return (
    <>
      <PageHeader
        title="Roles"
        about="A role is a set of capabilities. Built-in roles are the same everywhere; your own can be bound in their group and below."
        actions={
          <ButtonLink
            to={dialogPath(place, 'create')}
            tone="primary"
            icon="plus"
            disabledReason={denial('roles.create')}
          >
            New role
          </ButtonLink>
        }
      />
      <section class="panel flush">
        <Table
          label="Roles"
          rows={roles}
          uidOf={({ uid = '' }) => uid}
          nameOf={({ name = '' }) => name}
          columns={[
            {
              title: 'Name',
              cell: (role) => (
                <>
                  <Link to={paths.role(place.group, role.uid ?? '')}>{role.name}</Link>{' '}
                  {isBuiltIn(role) && <Badge>built-in</Badge>}
                </>
              ),
            },
            { title: 'Description', cell: ({ description }) => description, isSecondary: true },
            { title: 'Capabilities', cell: ({ capabilities = [] }) => capabilities.length, isNumber: true },
          ]}
          actions={(role) => [
            {
              label: 'Delete',
              to: dialogPath(place, 'delete', role.uid),
              disabledReason: isBuiltIn(role)
                ? 'Built-in roles cannot be changed.'
                : denialIn(parentOf(role.uid ?? ''), 'roles.delete'),
              isDanger: true,
            },
          ]}
        />
      </section>
      <SameWith stemma="stemma roles list" curl={{ path: '/iam/v2beta1/roles?order_by=name' }} />
      {isDialogOpen(place, 'create') && <CreateRole place={place} roles={roles} />}
      {isDialogOpen(place, 'delete') && <DeleteRole place={place} name={about?.name ?? ''} />}
    </>
  )
}

function DeleteRole({ place, name }: PageProps & { name: string }) {
  const { run, isRunning, error } = useWrite(api.roles.deleteRole, { done: 'Role deleted' })
  const remove = async () => {
    if (await run({ uid: place.query.get('about') ?? '' })) await closeDialog(place)
  }
  return (
    <ConfirmDelete
      place={place}
      kind="role"
      name={name}
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={remove}
    >
      <p>Only a role that is bound nowhere can be deleted.</p>
    </ConfirmDelete>
  )
}
