// One role: its capabilities, the difference from another role, and where it is bound.
import type { RoleJson } from '@stemma/api/json/platform/iam/v2beta1/role'
import { api } from '../../api/api.ts'
import { actionOf, groupCapabilities } from '../../api/capabilities.ts'
import { readPermissions, useDenial } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { isBuiltIn, readRoles, rolesFor } from '../../api/roles.ts'
import { parentOf } from '../../api/uids.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { navigate, withQuery } from '../../router/router.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Select } from '../../ui/field.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { EditRole, namesOf } from './role-form.tsx'

const readRole = ({ uids }: Place) => read(api.roles.getRole, { uid: uids.role ?? '' })
const readUse = (place: Place) =>
  read(api.roleBindings.listRoleBindings, {
    uidp: { descendantsOf: place.group },
    role: place.uids.role ?? '',
    ...pageOf(place),
  })

/** The group of the role, which may be above the opened one. For built-in roles, which have none, the opened group. */
const groupIn = ({ uids, group }: Place) => parentOf(uids.role ?? '') || group

export const load = (place: Place) => [
  ...[readRole(place), readUse(place), readRoles(place.group), readPermissions(groupIn(place))],
]

export default function Role({ place }: PageProps) {
  const role = useData(readRole(place))
  const { roleBindings = [], nextPageToken, totalCount } = useData(readUse(place))
  const { roles = [] } = useData(readRoles(place.group))
  const others = rolesFor(place.group, roles).filter(({ uid }) => uid !== role.uid)
  const compared = others.find(({ uid }) => uid === place.query.get('compare'))
  const denial = useDenial(groupIn(place))
  return (
    <>
      <PageHeader
        title={role.name}
        about={role.description || 'Role'}
        actions={
          <ButtonLink
            to={dialogPath(place, 'edit')}
            disabledReason={isBuiltIn(role) ? 'Built-in roles cannot be changed.' : denial('roles.update')}
          >
            Change role
          </ButtonLink>
        }
      />
      <section class="panel">
        <div class="panel-header">
          <h2>Capabilities</h2>
          <Select
            label="Compare with"
            name="compare"
            value={compared?.uid ?? ''}
            options={[
              { value: '', label: 'no other role' },
              ...others.map(({ uid = '', name = '' }) => ({ value: uid, label: name })),
            ]}
            onChange={(event) =>
              void navigate(withQuery(place, { compare: event.currentTarget.value }), { replace: true })
            }
          />
        </div>
        <Capabilities role={role} compared={compared} />
      </section>
      <section class="panel flush">
        <h2>Where it is bound, in this group and below</h2>
        {roleBindings.length === 0 ? (
          <Empty icon="access" title="Bound to nobody">
            Nobody has this role in this group or below it.
          </Empty>
        ) : (
          <Table
            label="Role bindings"
            rows={roleBindings}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ identity }) => identity?.name ?? ''}
            columns={[
              { title: 'Who', cell: ({ identity }) => identity?.name || identity?.email || identity?.uid },
              {
                title: 'Group',
                cell: ({ group }) => <Link to={paths.access(group?.uid ?? '')}>{group?.name}</Link>,
              },
              { title: 'Since', cell: ({ createTime }) => <Time at={createTime} />, isSecondary: true },
              {
                title: 'Expires',
                cell: ({ expireTime }) => (expireTime ? <Time at={expireTime} /> : null),
                isSecondary: true,
              },
            ]}
          />
        )}
      </section>
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={roleBindings.length} />
      <PageCommands
        stemma={`stemma roles get ${role.uid}`}
        curl={{ path: `/iam/v2beta1/roles/${role.uid}` }}
      />
      {isDialogOpen(place, 'edit') && <EditRole place={place} roles={roles} role={role} />}
    </>
  )
}

function Capabilities({ role, compared }: { role: RoleJson; compared: RoleJson | undefined }) {
  const own = new Set(namesOf(role))
  const other = new Set(compared ? namesOf(compared) : own)
  const shown = groupCapabilities([...own.union(other)])
  const toneOf = (name: string) => (!own.has(name) ? 'bad' : other.has(name) ? 'neutral' : 'good')
  return (
    <>
      {compared && (
        <p class="quiet">
          <Badge tone="good">+ only in {role.name}</Badge> <Badge tone="bad">− only in {compared.name}</Badge>
        </p>
      )}
      <dl class="capabilities">
        {[...shown].map(([about, names]) => (
          <div key={about}>
            <dt>{about}</dt>
            <dd>
              {names.map((name) => (
                <Badge key={name} tone={toneOf(name)}>
                  {{ good: '+ ', bad: '− ', neutral: '' }[toneOf(name)]}
                  {actionOf(name)}
                </Badge>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}
