import type { ComponentType } from 'preact'
import type { Capability } from '../api/permissions.ts'
import type { Read } from '../api/read.ts'
import { uidOf } from '../paths.ts'
import type { IconName } from '../ui/icon.tsx'

export type Route = {
  /** Segments that begin with a colon are uids, see paths.ts. */
  path: string
  title: string
  page: () => Promise<PageModule>
  /** Without this capability, the list on the page is incomplete. */
  needs?: Capability
  /** Shown in the navigation of a group or of the server, below the heading `section`. `key` is its letter for the shortcut `G …`. */
  nav?: { section: string; icon: IconName; key?: string }
}

/** The module of a page. The default export draws it after the reads of `load` have succeeded. */
export type PageModule = { default: ComponentType<PageProps>; load?: (place: Place) => Read<unknown>[] }

export type PageProps = { place: Place }

export type Place = {
  route: Route
  /** The uids in the path, by the names in the path of the route. */
  uids: Record<string, string>
  /** The uid of the group that the page is about; empty for a page outside of groups. */
  group: string
  query: URLSearchParams
  /** Path and query. */
  href: string
  /** In milliseconds. Requests that depend on the time use it, so that they stay the same while the page is shown. */
  openTime: number
}

/** Undefined if no route has the path. */
export function placeOf(routes: readonly Route[], path: string, search: string): Place | undefined {
  for (const route of routes) {
    const uids = uidsOf(route.path, path)
    if (uids)
      return {
        ...{ route, uids, group: uids.group ?? '' },
        ...{ query: new URLSearchParams(search), href: path + search, openTime: Date.now() },
      }
  }
  return undefined
}

function uidsOf(pattern: string, path: string): Record<string, string> | undefined {
  const [expected, actual] = [pattern.split('/'), path.split('/')]
  if (expected.length !== actual.length) return undefined
  const uids: Record<string, string> = {}
  for (const [at, segment] of expected.entries()) {
    const value = actual[at] ?? ''
    const uid = segment.startsWith(':') ? decoded(value) : ''
    if (uid) uids[segment.slice(1)] = uidOf(uid)
    else if (segment !== value) return undefined
  }
  return uids
}

/** Undefined if a percent sign is not followed by the bytes of a character in UTF-8. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
