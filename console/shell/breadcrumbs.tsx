import { useRead } from '../api/read.ts'
import { uidsOnPath } from '../api/uids.ts'
import { paths } from '../paths.ts'
import { Link } from '../router/link.tsx'
import type { Place } from '../router/route.ts'
import { Menu } from '../ui/menu.tsx'
import { readPath } from './group-path.ts'

/**
 * If there are more groups, only the organization and the last two are shown, so that there is room
 * for their names. The groups between them are in a menu.
 */
const maxShown = 4
const lastShown = 2

/** The groups from the organization down to the current one. A group that the person may not see has no name. */
export function Breadcrumbs({ place: { group } }: { place: Place }) {
  const { data } = useRead(readPath(group))
  const names = new Map(data?.groups?.map(({ uid, name }) => [uid, name]))
  const uids = uidsOnPath(group)
  const between = uids.length > maxShown ? uids.slice(1, -lastShown) : []
  const crumb = (uid: string) => (
    <li key={uid}>
      {names.has(uid) ? (
        <Link to={paths.group(uid)} aria-current={uid === group ? 'true' : undefined} dir="auto">
          {names.get(uid)}
        </Link>
      ) : (
        <span>{data ? 'hidden group' : '…'}</span>
      )}
    </li>
  )
  return (
    <nav class="breadcrumbs" aria-label="Groups above this page">
      <ol>
        {uids.slice(0, 1).map(crumb)}
        {between.length > 0 && (
          <li class="between">
            <Menu
              icon="more"
              label={`${between.length} groups in between`}
              items={between.map((uid) => ({
                ...{ key: uid, label: names.get(uid) ?? 'hidden group', to: paths.group(uid) },
                disabledReason: names.has(uid) ? undefined : 'You may not see this group.',
              }))}
            />
          </li>
        )}
        {uids.slice(1 + between.length).map(crumb)}
      </ol>
    </nav>
  )
}
