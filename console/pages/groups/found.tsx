// The groups below a group whose names contain a text.
import { api } from '../../api/api.ts'
import { read, useData, useRead } from '../../api/read.ts'
import { parentOf } from '../../api/uids.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { Empty } from '../../ui/empty.tsx'
import { byName } from '../../ui/filter.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

export const readFound = (place: Place) =>
  read(api.groups.listGroups, {
    uidp: { descendantsOf: place.group },
    ...byName(place),
    ...pageOf(place),
  })

export function FoundGroups({ place }: PageProps) {
  const { groups = [], nextPageToken, totalCount } = useData(readFound(place))
  const ids = [...new Set(groups.map(({ uid = '' }) => parentOf(uid)))]
  // Groups of the same name are told apart by the groups that they are in.
  const { data: parents } = useRead(
    read(api.groups.listGroups, { uidp: { ids }, pageSize: 200 }),
    ids.length > 0,
  )
  const names = new Map(parents?.groups?.map(({ uid, name }) => [uid, name]))
  if (groups.length === 0)
    return (
      <Empty icon="search" title="No group has such a name">
        Clear the search to see the tree.
      </Empty>
    )
  return (
    <>
      <section class="panel flush">
        <Table
          label="Groups that were found"
          rows={groups}
          uidOf={({ uid = '' }) => uid}
          nameOf={({ name = '' }) => name}
          columns={[
            { title: 'Name', cell: ({ uid = '', name }) => <Link to={paths.group(uid)}>{name}</Link> },
            {
              title: 'In',
              cell: ({ uid = '' }) => (
                <Link to={paths.group(parentOf(uid))} class="quiet">
                  {names.get(parentOf(uid)) ?? '…'}
                </Link>
              ),
            },
            { title: 'Description', cell: ({ description }) => description, isSecondary: true },
            { title: 'Changed', cell: ({ updateTime }) => <Time at={updateTime} />, isSecondary: true },
          ]}
        />
      </section>
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={groups.length} />
    </>
  )
}
