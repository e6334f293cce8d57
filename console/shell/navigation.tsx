import { useEffect, useRef } from 'preact/hooks'
import { segmentOf } from '../paths.ts'
import { Link } from '../router/link.tsx'
import type { Place, Route } from '../router/route.ts'
import { routes } from '../routes.ts'
import { Icon } from '../ui/icon.tsx'

/** The pages of a group or of the server, in the order of routes.ts, below the headings of their sections. */
export function Navigation({ place }: { place: Place }) {
  const isServer = isServerRoute(place.route)
  const sections = Map.groupBy(isServer ? serverRoutes : groupRoutes, ({ nav }) => nav.section)
  const list = useRef<HTMLElement>(null)
  // On a phone, the entries are in one line that is wider than the screen.
  useEffect(() => {
    list.current
      ?.querySelector('[aria-current]')
      ?.scrollIntoView({ block: 'nearest', inline: 'center', behavior: 'instant' })
  }, [place.route.path])
  return (
    <nav ref={list} class="navigation" aria-label={isServer ? 'Pages of the server' : 'Pages of this group'}>
      {[...sections].map(([section, entries]) => (
        <div key={section}>
          {section && <h2>{section}</h2>}
          <ul>
            {entries.map((route) => (
              <li key={route.path}>
                <Link to={navPath(route, place.group)} aria-current={currentOf(place, route)}>
                  <Icon name={route.nav.icon} />
                  {route.title}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

type NavRoute = Route & { nav: NonNullable<Route['nav']> }

/** Pages about the whole server, which only its operators can open. */
export const isServerRoute = ({ path }: Route) => path.startsWith('/console/server/')

const shownRoutes = routes.filter((route): route is NavRoute => route.nav !== undefined)

/** The pages of a group. */
export const groupRoutes = shownRoutes.filter((route) => !isServerRoute(route))

export const serverRoutes = shownRoutes.filter(isServerRoute)

/** The path of a page for a group. */
export const navPath = ({ path }: Route, group: string) => path.replace(':group', segmentOf(group))

/** The `aria-current` of a link: `page` on its own page, `true` on a page below it. */
function currentOf({ route }: Place, { path }: NavRoute): 'page' | 'true' | undefined {
  if (route.path === path) return 'page'
  return path !== '/console/g/:group' && route.path.startsWith(`${path}/`) ? 'true' : undefined
}
