import { useIsOperator } from '../api/account.ts'
import { person, signOut } from '../api/session.ts'
import { paths } from '../paths.ts'
import { Link } from '../router/link.tsx'
import type { Shown } from '../router/router.ts'
import { Icon } from '../ui/icon.tsx'
import { Menu } from '../ui/menu.tsx'
import { toast } from '../ui/toast.ts'
import { Breadcrumbs } from './breadcrumbs.tsx'
import { isServerRoute } from './navigation.tsx'
import { OrganizationSwitcher } from './organization-switcher.tsx'
import { openPalette } from './palette-state.ts'
import { openShortcuts } from './shortcuts.tsx'
import { chooseTheme, theme } from './theme.ts'

export const TopBar = ({ shown }: { shown: Shown | undefined }) => (
  <header class="top-bar">
    <Link to={paths.home()} class="brand" aria-label="Stemma, all organizations">
      <svg
        width="20"
        height="20"
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        stroke-width="2"
        aria-hidden="true"
      >
        <path d="M12 21V11M12 15c0-4-6-2-6-6M12 13c0-4 6-2 6-6" />
        <circle cx="12" cy="8" r="2.5" />
        <circle cx="6" cy="6" r="2.5" />
        <circle cx="18" cy="4.5" r="2.5" />
      </svg>
      <span>Stemma</span>
    </Link>
    <OrganizationSwitcher />
    {shown?.place && shown.place.group !== '' ? (
      <Breadcrumbs place={shown.place} />
    ) : (
      <span class="breadcrumbs">{shown?.place && isServerRoute(shown.place.route) && 'Server'}</span>
    )}
    <button
      type="button"
      class="search-button"
      aria-label="Search or go to"
      onClick={openPalette}
      aria-keyshortcuts="Control+K Meta+K"
    >
      <Icon name="search" />
      <span>Search or go to</span>
      <kbd>Ctrl K</kbd>
    </button>
    <AccountMenu />
  </header>
)

function AccountMenu() {
  const { name = '', email } = person.value ?? {}
  const leave = (everywhere: boolean) => () =>
    void signOut(everywhere).catch((error: Error) => toast(error.message, 'error'))
  const next = ({ system: 'light', light: 'dark', dark: 'system' } as const)[theme.value]
  return (
    <Menu
      label={`Account of ${email ?? name}`}
      class="account"
      items={[
        { label: 'My account', to: paths.account() },
        ...(useIsOperator() ? [{ label: 'Server', to: paths.serverPeople() }] : []),
        { label: `Theme: ${theme.value}, change to ${next}`, onSelect: () => chooseTheme(next) },
        { label: 'Keyboard shortcuts', onSelect: openShortcuts },
        { label: 'Sign out', onSelect: leave(false) },
        { label: 'Sign out everywhere', onSelect: leave(true), isDanger: true },
      ]}
    >
      <span class="avatar" aria-hidden="true">
        {(email ?? name).slice(0, 1).toUpperCase()}
      </span>
    </Menu>
  )
}
