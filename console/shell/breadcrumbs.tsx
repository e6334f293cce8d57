import { useRead } from '../api/read.ts'
import { paths } from '../paths.ts'
import { Link } from '../router/link.tsx'
import type { Place } from '../router/route.ts'
import { readPath, uidsOnPath } from './group-path.ts'

/** The groups from the organization down to the current one. A group that the person may not see has no name. */
export function Breadcrumbs({ place: { group } }: { place: Place }) {
  const { data } = useRead(readPath(group))
  const names = new Map(data?.groups?.map(({ uid, name }) => [uid, name]))
  return (
    <nav class="breadcrumbs" aria-label="Groups above this page">
      <ol>
        {uidsOnPath(group).map((uid) => (
          <li key={uid}>
            <Link to={paths.group(uid)} aria-current={uid === group ? 'true' : undefined} dir="auto">
              {names.get(uid) ?? 'hidden group'}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  )
}
