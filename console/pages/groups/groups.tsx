// The tree below a group.
import type { GroupJson } from '@stemma/api/json/platform/iam/v2beta1/group'
import { useInfiniteQuery } from '@tanstack/preact-query'
import { api } from '../../api/api.ts'
import { useDenial, useDenialIn } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { navigate, withQuery } from '../../router/router.ts'
import { usePaletteActions } from '../../shell/palette-state.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { commandOf, pathOf } from '../../ui/commands.ts'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { byName, SearchFilter } from '../../ui/filter.tsx'
import { Menu } from '../../ui/menu.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import type { Children, TreeNode } from '../../ui/tree.tsx'
import { keyOf, Tree } from '../../ui/tree.tsx'
import { CreateGroup } from './create.tsx'
import { DeleteGroup } from './delete.tsx'
import { EditGroup } from './edit.tsx'
import { FoundGroups, readFound } from './found.tsx'

const readRoot = ({ group }: Place) => read(api.groups.getGroup, { uid: group })

const isSearch = ({ query }: Place) => (query.get('name') ?? '') !== ''

export const load = (place: Place) => [readRoot(place), ...(isSearch(place) ? [readFound(place)] : [])]

export default function Groups({ place }: PageProps) {
  const root = useData(readRoot(place))
  const denial = useDenial(place.group)
  const create = dialogPath(place, 'create', place.group)
  usePaletteActions([{ label: 'New group here', section: 'Actions', to: create }], place.group)
  const nodeOf = (
    { uid = '', name, description }: GroupJson,
    denialIn: (group: string, capability: (typeof actionCapabilities)[number]) => string | undefined,
  ): TreeNode => ({
    uid,
    label: name,
    detail: description,
    menu: (
      <Menu
        icon="more"
        label={`Actions for ${name}`}
        items={[
          { label: 'Open', to: paths.group(uid) },
          {
            label: 'New group below',
            to: dialogPath(place, 'create', uid),
            disabledReason: denialIn(uid, 'groups.create'),
          },
          {
            label: 'Rename or describe',
            to: dialogPath(place, 'edit', uid),
            disabledReason: denialIn(uid, 'groups.update'),
          },
          {
            label: 'Delete',
            to: dialogPath(place, 'delete', uid),
            disabledReason: denialIn(uid, 'groups.delete'),
            isDanger: true,
          },
        ]}
      />
    ),
  })
  const useChildren = (uid: string): Children => {
    const { data, error, isPending, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery({
      queryKey: ['groups', 'tree', uid],
      queryFn: ({ pageParam, signal }) =>
        api.groups.listGroups(
          { uidp: { childrenOf: uid }, orderBy: 'name', pageSize, pageToken: pageParam },
          { signal },
        ),
      initialPageParam: '',
      getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
    })
    const children = (data?.pages ?? []).flatMap(({ groups = [] }) => groups)
    const uids = children.map(({ uid: child = '' }) => child)
    const denialIn = useDenialIn(place.group, uids, actionCapabilities)
    return {
      nodes: children.map((child) => nodeOf(child, denialIn)),
      isLoading: isPending,
      error: error ?? undefined,
      reload: () => void refetch(),
      hasMore: hasNextPage,
      loadMore: () => void fetchNextPage(),
    }
  }
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
        <section class="panel flush">
          <Tree
            key={place.group}
            label={`Groups in ${root.name}`}
            roots={[nodeOf(root, (_, capability) => denial(capability))]}
            expanded={[keyOf(place.group), ...(place.query.get('open')?.split('.') ?? [])]}
            onToggle={(keys) => void navigate(withOpen(place, keys), { replace: true })}
            useChildren={useChildren}
            onActivate={(uid) => void navigate(paths.group(uid))}
          />
        </section>
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

const actionCapabilities = ['groups.create', 'groups.update', 'groups.delete'] as const

/** The number of children that one request loads: the largest page of the API. */
const pageSize = 200

/** More open nodes than this are not kept in the URL, whose length is limited. */
const maxOpenInUrl = 40

const withOpen = (place: Place, keys: readonly string[]) =>
  withQuery(place, {
    open: keys
      .filter((key) => key !== keyOf(place.group))
      .slice(-maxOpenInUrl)
      .join('.'),
  })
