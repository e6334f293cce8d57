// The actions that the command palette offers without a search: those of the page, pages to go to, and organizations.
import { useIsOperator } from '../api/account.ts'
import { useRead } from '../api/read.ts'
import { paths } from '../paths.ts'
import type { Place } from '../router/route.ts'
import { groupRoutes, navPath, serverRoutes } from './navigation.tsx'
import { organizations } from './organizations.ts'
import type { PaletteAction } from './palette-state.ts'
import { pageActions } from './palette-state.ts'
import { openShortcuts } from './shortcuts.tsx'

export function useOfferedActions(place: Place | undefined): PaletteAction[] {
  const { data } = useRead(organizations)
  const group = place?.group ?? ''
  const isOperator = useIsOperator()
  return [
    ...pageActions.value,
    ...(group === ''
      ? []
      : groupRoutes.map((route) => ({ label: route.title, section: 'Go to', to: navPath(route, group) }))),
    { label: 'All organizations', section: 'Go to', to: paths.home() },
    ...(isOperator
      ? serverRoutes.map(({ title, path }) => ({ label: title, section: 'Server', to: path }))
      : []),
    { label: 'Keyboard shortcuts', section: 'Help', run: openShortcuts },
    ...(data?.groups ?? []).map(({ uid = '', name = '' }) => ({
      ...{ label: name, section: 'Organizations', to: paths.group(uid) },
    })),
  ]
}
