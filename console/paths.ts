// The paths of all pages. No page contains the path of another, so a page can move without broken links.

/** A uid is a path; in a URL it is one segment, with dots for slashes. */
export const segmentOf = (uid: string) => uid.replaceAll('/', '.')
export const uidOf = (segment: string) => segment.replaceAll('.', '/')

const group = (uid: string) => `/console/g/${segmentOf(uid)}`

export const paths = {
  home: () => '/console/',
  account: () => '/console/account',
  /** Overview of a group. A group without a parent is an organization. */
  group,
  groups: (uid: string) => `${group(uid)}/groups`,
  identities: (uid: string) => `${group(uid)}/identities`,
  identity: (uid: string, identity: string) => `${group(uid)}/identities/${segmentOf(identity)}`,
  newIdentity: (uid: string) => `${group(uid)}/new-identity`,
  access: (uid: string) => `${group(uid)}/access`,
  why: (uid: string) => `${group(uid)}/why`,
  roles: (uid: string) => `${group(uid)}/roles`,
  role: (uid: string, role: string) => `${group(uid)}/roles/${segmentOf(role)}`,
  invites: (uid: string) => `${group(uid)}/invites`,
  identityProviders: (uid: string) => `${group(uid)}/identity-providers`,
  identityProvider: (uid: string, provider: string) =>
    `${group(uid)}/identity-providers/${segmentOf(provider)}`,
  accountAssociations: (uid: string) => `${group(uid)}/account-associations`,
  settings: (uid: string) => `${group(uid)}/settings`,
  activity: (uid: string) => `${group(uid)}/activity`,
  auditEntry: (uid: string, entry: string) => `${group(uid)}/activity/${segmentOf(entry)}`,
  events: (uid: string) => `${group(uid)}/events`,
  subscription: (uid: string, subscription: string) => `${group(uid)}/events/${segmentOf(subscription)}`,
  liveEvents: (uid: string) => `${group(uid)}/live-events`,
  usage: (uid: string) => `${group(uid)}/usage`,
  repos: (uid: string) => `${group(uid)}/repos`,
  repo: (uid: string, repo: string) => `${group(uid)}/repos/${segmentOf(repo)}`,
  /** The uid of a tag begins with that of its repo. */
  tag: (uid: string, tag: string) =>
    `${group(uid)}/repos/${segmentOf(tag.slice(0, tag.lastIndexOf('/')))}/tags/${segmentOf(tag)}`,
  pullTokens: (uid: string) => `${group(uid)}/pull-tokens`,
  advisories: (uid: string) => `${group(uid)}/advisories`,
  advisory: (uid: string, advisory: string) => `${group(uid)}/advisories/${segmentOf(advisory)}`,
  /** Pages about the whole server, for its operators. */
  serverPeople: () => '/console/server/people',
  serverOrganizations: () => '/console/server/organizations',
  serverOrganization: (uid: string) => `/console/server/organizations/${segmentOf(uid)}`,
  serverKeys: () => '/console/server/keys',
  serverHealth: () => '/console/server/health',
  signIn: (to: string) => `/console/sign-in?to=${encodeURIComponent(to)}`,
  /** Shown at the end of a sign-in in a separate window. */
  signedIn: () => '/console/welcome-back',
  /** Signs in through an identity provider. */
  signInThrough: (provider: string) => `/console/sign-in?idp_id=${encodeURIComponent(provider)}`,
  /** Tests an identity provider, in a separate window. */
  testSignIn: (provider: string) => `/console/test-sign-in?provider=${encodeURIComponent(provider)}`,
  token: () => '/console/token',
  signOut: () => '/console/sign-out',
}
