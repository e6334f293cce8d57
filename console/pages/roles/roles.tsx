// The roles that can be bound in a group or below it: built-in ones, and those of groups above and below.
import type { RoleJson } from '@stemma/api/json/platform/iam/v2beta1/role'
import { api } from '../../api/api.ts'
import { useDenial, useDenialIn } from '../../api/permissions.ts'
import { read, useData, useRead } from '../../api/read.ts'
import { isBuiltIn, readRoles, rolesForSubtree } from '../../api/roles.ts'
import { parentOf } from '../../api/uids.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Table } from '../../ui/table.tsx'
import { CreateRole } from './role-form.tsx'

export const load = (place: Place) => [readRoles(place.group)]

export default function Roles({ place }: PageProps) {
  const { roles: all, hasMore } = useData(readRoles(place.group))
  const roles = rolesForSubtree(place.group, all)
  const denial = useDenial(place.group)
  const denialIn = useDenialIn(
    place.group,
    roles.map(({ uid = '' }) => parentOf(uid)),
    ['roles.delete'],
  )
  const ids = [...new Set(roles.map(({ uid = '' }) => parentOf(uid)).filter(Boolean))]
  const { data } = useRead(read(api.groups.listGroups, { uidp: { ids }, pageSize: 200 }), ids.length > 0)
  const groups = new Map(data?.groups?.map(({ uid = '', name = '' }) => [uid, name]))
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
            {
              title: 'Group',
              cell: (role) => (isBuiltIn(role) ? 'every group' : <Where role={role} groups={groups} />),
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
      {hasMore && (
        <p class="quiet">
          Only the first 200 roles of each group on the path, and the first 200 of all groups below, are
          shown. Use the API to list all.
        </p>
      )}
      <PageCommands stemma="stemma roles list" curl={{ path: '/iam/v2beta1/roles?order_by=name' }} />
      {isDialogOpen(place, 'create') && <CreateRole place={place} roles={roles} />}
      {isDialogOpen(place, 'delete') && <DeleteRole place={place} name={about?.name ?? ''} />}
    </>
  )
}

/** The group of a role. The role can be bound in it and below it. */
const Where = ({ role, groups }: { role: RoleJson; groups: ReadonlyMap<string, string> }) => {
  const group = parentOf(role.uid ?? '')
  return <Link to={paths.roles(group)}>{groups.get(group) ?? '…'}</Link>
}

function DeleteRole({ place, name }: PageProps & { name: string }) {
  const { run, isRunning, error } = useWrite(api.roles.deleteRole, {
    done: 'Role deleted',
    after: () => closeDialog(place),
  })
  const remove = async () => {
    await run({ uid: place.query.get('about') ?? '' })
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
