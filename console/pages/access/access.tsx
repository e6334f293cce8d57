// Everyone with access to a group: roles that are bound in it, and those that are inherited from the groups above.

import { capabilityNames } from '@stemma/api/gen/capabilities/capability-names.ts'
import type { AccessEntryJson } from '@stemma/api/json/platform/iam/v2beta1/access'
import { api } from '../../api/api.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { withQuery } from '../../router/router.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { commandOf, pathOf } from '../../ui/commands.ts'
import { Uid } from '../../ui/copy.tsx'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter } from '../../ui/filter.tsx'
import type { MenuItem } from '../../ui/menu.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { IdentityFilter } from '../identities/identity-filter.tsx'
import { AddAccess } from './add-access.tsx'
import { ChangeBinding } from './change-binding.tsx'
import { RemoveBinding } from './remove-binding.tsx'

const readAccess = (place: Place) =>
  read(api.access.listAccess, {
    resource: place.group,
    capability: place.query.get('can') ?? undefined,
    identity: place.query.get('identity') ?? undefined,
    ...pageOf(place),
  })

export const load = (place: Place) => [readAccess(place)]

export default function Access({ place }: PageProps) {
  const { entries = [], nextPageToken, totalCount } = useData(readAccess(place))
  const denial = useDenial(place.group)
  const can = place.query.get('can') ?? ''
  const identity = place.query.get('identity') ?? ''
  const about = place.query.get('about') ?? ''
  const chosen = entries.find(({ roleBindingUid }) => roleBindingUid === about)
  return (
    <>
      <PageHeader
        title="Access"
        about="Everyone who may do something here, and why. A role that is bound in a group above applies here too."
        actions={
          <ButtonLink
            to={dialogPath(place, 'add')}
            tone="primary"
            icon="plus"
            disabledReason={denial('role_bindings.create')}
          >
            Add access
          </ButtonLink>
        }
      />
      <div class="filters">
        <ChoiceFilter
          place={place}
          name="can"
          label="Who can"
          options={[{ value: '', label: 'Everyone with access' }, ...capabilityOptions]}
        />
        <IdentityFilter
          place={place}
          name="identity"
          label="Search people and workloads"
          identityName={entries[0] && nameOf(entries[0])}
        />
        {identity && (
          <ButtonLink to={withQuery(place, { identity: undefined })} icon="close">
            Show everyone
          </ButtonLink>
        )}
      </div>
      {entries.length === 0 ? (
        <Empty icon="access" title={emptyTitle(can, identity)}>
          {identity
            ? `They may ${can ? 'be able to do it' : 'have a role'} in a group below. The page Why shows whether they may do something there.`
            : can
              ? 'No role that is bound here or in a group above has this capability.'
              : 'Give a person or a workload a role to begin.'}
        </Empty>
      ) : (
        <section class="panel flush">
          <Table
            label="Access"
            rows={entries}
            uidOf={({ roleBindingUid = '', identity }) => `${roleBindingUid || identity?.uid}`}
            // All members of an external group have the same role binding, and hidden entries have none.
            keyOf={({ roleBindingUid, identity }, at) => `${roleBindingUid || at} ${identity?.uid}`}
            nameOf={nameOf}
            columns={[
              { title: 'Who', cell: (entry) => <Who entry={entry} group={place.group} /> },
              { title: 'Role', cell: (entry) => <RoleOf entry={entry} group={place.group} /> },
              { title: 'Given in', cell: (entry) => <Source entry={entry} group={place.group} /> },
              {
                title: 'Expires',
                cell: ({ expireTime }) => (expireTime ? <Time at={expireTime} /> : null),
                isSecondary: true,
              },
            ]}
            actions={(entry) => actionsFor(place, entry, denial)}
          />
        </section>
      )}
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={entries.length} />
      <PageCommands
        stemma={
          can && !identity
            ? `stemma access who-can ${can} ${place.group}`
            : commandOf(`stemma access list ${place.group}`, { identity, capability: can })
        }
        curl={{ path: pathOf(`/iam/v2beta1/access/${place.group}`, { capability: can, identity }) }}
      />
      {isDialogOpen(place, 'add') && <AddAccess place={place} />}
      {isDialogOpen(place, 'change') && <ChangeBinding place={place} />}
      {isDialogOpen(place, 'remove') && <RemoveBinding place={place} entry={chosen} />}
    </>
  )
}

const emptyTitle = (can: string, identity: string) =>
  can
    ? `${identity ? 'They cannot' : 'Nobody here can'} do ${can}`
    : identity
      ? 'No access here'
      : 'Nobody has access'

const capabilityOptions = Object.values(capabilityNames)
  .sort()
  .map((name) => ({ value: name, label: `Who can ${name}` }))

export const nameOf = ({ identity }: AccessEntryJson) =>
  identity?.name || identity?.email || identity?.uid || 'somebody'

const isWorkload = (uid: string) => uid.includes('/')

function Who({ entry, group }: { entry: AccessEntryJson; group: string }) {
  const { identity, externalGroup } = entry
  const uid = identity?.uid ?? ''
  return (
    <>
      {!identity?.name && !identity?.email ? (
        <Uid uid={uid} />
      ) : isWorkload(uid) ? (
        <Link to={paths.identity(group, uid)}>{nameOf(entry)}</Link>
      ) : (
        nameOf(entry)
      )}{' '}
      <span class="quiet small">{isWorkload(uid) ? 'workload' : 'person'}</span>
      {externalGroup?.externalGroupId && (
        <span class="quiet small"> through the external group {externalGroup.externalGroupId}</span>
      )}
    </>
  )
}

function RoleOf({ entry: { role }, group }: { entry: AccessEntryJson; group: string }) {
  if (!role?.uid) return <span class="quiet">hidden</span>
  return <Link to={paths.role(group, role.uid)}>{role.name || role.uid}</Link>
}

function Source({ entry, group }: { entry: AccessEntryJson; group: string }) {
  const { inherited, group: source, hidden } = entry
  if (!inherited) return <Badge tone="good">here</Badge>
  const name = source?.name || 'a group above'
  if (hidden || !source?.uid || source.uid === group) return <span class="quiet">{name}</span>
  return <Link to={paths.access(source.uid)}>{name}</Link>
}

function actionsFor(
  place: Place,
  { inherited, group, identity, roleBindingUid, externalGroup }: AccessEntryJson,
  denial: ReturnType<typeof useDenial>,
): MenuItem[] {
  const elsewhere = inherited
    ? `The role is bound in ${group?.name || 'a group above'}. Change it there.`
    : externalGroup
      ? 'The role belongs to an external group. Change its role mapping.'
      : undefined
  return [
    {
      label: 'Why',
      to: `${paths.why(place.group)}?${new URLSearchParams({ identity: identity?.uid ?? '' })}`,
    },
    {
      label: 'Change expiry and reason',
      to: dialogPath(place, 'change', roleBindingUid),
      disabledReason: elsewhere ?? denial('role_bindings.update'),
    },
    {
      label: 'Remove',
      to: dialogPath(place, 'remove', roleBindingUid),
      disabledReason: elsewhere ?? denial('role_bindings.delete'),
      isDanger: true,
    },
  ]
}
