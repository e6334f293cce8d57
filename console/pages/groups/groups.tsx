// The groups below a group: their tree, or those that a search finds.
import { api } from '../../api/api.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { usePaletteActions } from '../../shell/palette-state.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { commandOf, pathOf } from '../../ui/commands.ts'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { byName, SearchFilter } from '../../ui/filter.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { CreateGroup } from './create.tsx'
import { DeleteGroup } from './delete.tsx'
import { EditGroup } from './edit.tsx'
import { FoundGroups, readFound } from './found.tsx'
import { GroupTree } from './group-tree.tsx'

const readRoot = ({ group }: Place) => read(api.groups.getGroup, { uid: group })

const isSearch = ({ query }: Place) => (query.get('name') ?? '') !== ''

export const load = (place: Place) => [readRoot(place), ...(isSearch(place) ? [readFound(place)] : [])]

export default function Groups({ place }: PageProps) {
  const root = useData(readRoot(place))
  const denial = useDenial(place.group)
  const create = dialogPath(place, 'create', place.group)
  usePaletteActions([{ label: 'New group here', section: 'Actions', to: create }], place.group)
  return (
    <>
      <PageHeader
        title="Groups"
        about={`Everything below ${root.name}. A role that is bound in a group applies to everything below it.`}
        actions={
          <ButtonLink to={create} tone="primary" icon="plus" disabledReason={denial('groups.create')}>
            New group
          </ButtonLink>
        }
      />
      <div class="filters">
        <SearchFilter place={place} name="name" label="Search groups by name" />
      </div>
      {isSearch(place) ? (
        <FoundGroups place={place} />
      ) : (
        <GroupTree place={place} root={root} denial={denial} />
      )}
      <PageCommands
        stemma={
          isSearch(place)
            ? commandOf('stemma groups list', { descendantsOf: place.group, ...byName(place) })
            : `stemma groups tree ${place.group}`
        }
        curl={{
          path: pathOf('/iam/v2beta1/groups', { 'uidp.descendantsOf': place.group, ...byName(place) }),
        }}
      />
      {isDialogOpen(place, 'create') && <CreateGroup place={place} />}
      {isDialogOpen(place, 'edit') && <EditGroup place={place} />}
      {isDialogOpen(place, 'delete') && <DeleteGroup place={place} />}
    </>
  )
}
