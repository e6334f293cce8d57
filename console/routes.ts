// The pages of the console by path. A page is in the folder that its path names, and is loaded when it is first opened.
import type { Route } from './router/route.ts'

export const routes: readonly Route[] = [
  { path: '/console/', title: 'Organizations', page: () => import('./pages/home.tsx') },
  { path: '/console/account', title: 'My account', page: () => import('./pages/account/account.tsx') },
  { path: '/console/welcome-back', title: 'Signed in', page: () => import('./pages/signed-in.tsx') },
  {
    path: '/console/g/:group',
    title: 'Overview',
    page: () => import('./pages/overview/overview.tsx'),
    nav: { section: '', icon: 'overview', key: 'o' },
  },
  {
    path: '/console/g/:group/groups',
    title: 'Groups',
    page: () => import('./pages/groups/groups.tsx'),
    nav: { section: '', icon: 'tree', key: 'g' },
  },
  {
    path: '/console/g/:group/access',
    title: 'Access',
    page: () => import('./pages/access/access.tsx'),
    nav: { section: 'Access', icon: 'access', key: 'a' },
  },
  {
    path: '/console/g/:group/identities',
    title: 'Identities',
    page: () => import('./pages/identities/identities.tsx'),
    nav: { section: 'Access', icon: 'identity', key: 'i' },
  },
  {
    path: '/console/g/:group/identities/:identity',
    title: 'Identity',
    page: () => import('./pages/identities/identity.tsx'),
  },
  {
    path: '/console/g/:group/new-identity',
    title: 'New workload',
    page: () => import('./pages/new-identity/new-identity.tsx'),
  },
  {
    path: '/console/g/:group/roles',
    title: 'Roles',
    page: () => import('./pages/roles/roles.tsx'),
    nav: { section: 'Access', icon: 'role', key: 'r' },
  },
  {
    path: '/console/g/:group/roles/:role',
    title: 'Role',
    page: () => import('./pages/roles/role.tsx'),
  },
  {
    path: '/console/g/:group/why',
    title: 'Why',
    page: () => import('./pages/why/why.tsx'),
    nav: { section: 'Access', icon: 'question', key: 'w' },
  },
  {
    path: '/console/g/:group/invites',
    title: 'Invites',
    page: () => import('./pages/invites/invites.tsx'),
    nav: { section: 'Access', icon: 'invite', key: 'n' },
  },
  {
    path: '/console/g/:group/identity-providers',
    title: 'Identity providers',
    page: () => import('./pages/identity-providers/identity-providers.tsx'),
    nav: { section: 'Access', icon: 'provider' },
  },
  {
    path: '/console/g/:group/identity-providers/:provider',
    title: 'Identity provider',
    page: () => import('./pages/identity-providers/identity-provider.tsx'),
  },
  {
    path: '/console/g/:group/account-associations',
    title: 'Accounts',
    page: () => import('./pages/account-associations/account-associations.tsx'),
    nav: { section: 'Access', icon: 'account' },
  },
  {
    path: '/console/g/:group/repos',
    title: 'Repos',
    page: () => import('./pages/repos/repos.tsx'),
    nav: { section: 'Registry', icon: 'repo', key: 'p' },
  },
  {
    path: '/console/g/:group/repos/:repo',
    title: 'Repo',
    page: () => import('./pages/repos/repo.tsx'),
  },
  {
    path: '/console/g/:group/repos/:repo/tags/:tag',
    title: 'Tag',
    page: () => import('./pages/tags/tag.tsx'),
  },
  {
    path: '/console/g/:group/pull-tokens',
    title: 'Pull tokens',
    page: () => import('./pages/pull-tokens/pull-tokens.tsx'),
    nav: { section: 'Registry', icon: 'access', key: 't' },
  },
  {
    path: '/console/g/:group/advisories',
    title: 'Advisories',
    page: () => import('./pages/advisories/advisories.tsx'),
    nav: { section: 'Registry', icon: 'advisory', key: 'd' },
  },
  {
    path: '/console/g/:group/advisories/:advisory',
    title: 'Advisory',
    page: () => import('./pages/advisories/advisory.tsx'),
  },
  {
    path: '/console/g/:group/activity',
    title: 'Activity',
    page: () => import('./pages/activity/activity.tsx'),
    nav: { section: 'Operations', icon: 'activity', key: 'y' },
  },
  {
    path: '/console/g/:group/activity/:entry',
    title: 'Entry',
    page: () => import('./pages/activity/entry.tsx'),
  },
  {
    path: '/console/g/:group/events',
    title: 'Events',
    page: () => import('./pages/events/events.tsx'),
    nav: { section: 'Operations', icon: 'event', key: 'e' },
  },
  {
    path: '/console/g/:group/events/:subscription',
    title: 'Subscription',
    page: () => import('./pages/events/subscription.tsx'),
  },
  {
    path: '/console/g/:group/live-events',
    title: 'Live events',
    page: () => import('./pages/live-events/live-events.tsx'),
  },
  {
    path: '/console/g/:group/usage',
    title: 'Usage',
    page: () => import('./pages/usage/usage.tsx'),
    nav: { section: 'Operations', icon: 'usage', key: 'u' },
  },
  {
    path: '/console/g/:group/settings',
    title: 'Settings',
    page: () => import('./pages/settings/settings.tsx'),
    nav: { section: 'Operations', icon: 'settings', key: 's' },
  },
  {
    path: '/console/server/people',
    title: 'People',
    page: () => import('./pages/server/people.tsx'),
    nav: { section: 'Server', icon: 'identity' },
  },
  {
    path: '/console/server/organizations',
    title: 'Organizations',
    page: () => import('./pages/server/organizations.tsx'),
    nav: { section: 'Server', icon: 'tree' },
  },
  {
    path: '/console/server/organizations/:organization',
    title: 'Organization',
    page: () => import('./pages/server/organization.tsx'),
  },
  {
    path: '/console/server/keys',
    title: 'Keys',
    page: () => import('./pages/server/keys.tsx'),
    nav: { section: 'Server', icon: 'access' },
  },
  {
    path: '/console/server/health',
    title: 'Health',
    page: () => import('./pages/server/health.tsx'),
    nav: { section: 'Server', icon: 'activity' },
  },
]
