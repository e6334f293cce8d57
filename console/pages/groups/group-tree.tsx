// The tree below a group. Its open nodes are in the URL.
import type { GroupJson } from '@stemma/api/json/platform/iam/v2beta1/group'
import { useInfiniteQuery } from '@tanstack/preact-query'
import { api } from '../../api/api.ts'
import type { useDenial } from '../../api/permissions.ts'
import { useDenialIn } from '../../api/permissions.ts'
import { paths } from '../../paths.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { navigate, withQuery } from '../../router/router.ts'
import { dialogPath } from '../../ui/dialog.tsx'
import { Menu } from '../../ui/menu.tsx'
import type { Children, TreeNode } from '../../ui/tree.tsx'
import { keyOf, Tree } from '../../ui/tree.tsx'

export type GroupTreeProps = PageProps & { root: GroupJson; denial: ReturnType<typeof useDenial> }

export const GroupTree = ({ place, root, denial }: GroupTreeProps) => (
  <section class="panel flush">
    <Tree
      key={place.group}
      label={`Groups in ${root.name}`}
      roots={[nodeOf(place, root, (_, capability) => denial(capability))]}
      expanded={[keyOf(place.group), ...(place.query.get('open')?.split('.') ?? [])]}
      onToggle={(keys) => void navigate(withOpen(place, keys), { replace: true })}
      useChildren={(uid) => useChildGroups(place, uid)}
      onActivate={(uid) => void navigate(paths.group(uid))}
    />
  </section>
)

const actionCapabilities = ['groups.create', 'groups.update', 'groups.delete'] as const

/** Why the person may not do something with a group. */
type DenialIn = (group: string, capability: (typeof actionCapabilities)[number]) => string | undefined

const nodeOf = (place: Place, { uid = '', name, description }: GroupJson, denialIn: DenialIn): TreeNode => ({
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

/** The number of children that one request loads: the largest page of the API. */
const pageSize = 200

function useChildGroups(place: Place, uid: string): Children {
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
    nodes: children.map((child) => nodeOf(place, child, denialIn)),
    isLoading: isPending,
    error: error ?? undefined,
    reload: () => void refetch(),
    hasMore: hasNextPage,
    loadMore: () => void fetchNextPage(),
  }
}

/** More open nodes than this are not kept in the URL, whose length is limited. */
const maxOpenInUrl = 40

const withOpen = (place: Place, keys: readonly string[]) =>
  withQuery(place, {
    open: keys
      .filter((key) => key !== keyOf(place.group))
      .slice(-maxOpenInUrl)
      .join('.'),
  })
