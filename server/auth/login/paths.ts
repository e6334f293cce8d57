// Where sign-in is found, below the auth URL.

export const paths = {
  discovery: '/.well-known/openid-configuration',
  serverMetadata: '/.well-known/oauth-authorization-server',
  keys: '/.well-known/jwks.json',
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  revocation: '/oauth/revoke',
  deviceAuthorization: '/oauth/device',
  logout: '/oauth/logout',
  device: '/device',
  signIn: '/sign-in',
  /** Where the providers of organizations send people back to. */
  callback: '/oauth/callback',
  setUp: '/set-up',
  password: '/password',
  /** How published clients sign in. */
  published: '/oauth',
  publishedReturn: '/oauth/finish',
  organizationCheck: '/orgcheck',
} as const

/** What the paths of this server start with. */
export const prefixOf = (authUrl: string) => new URL(authUrl).pathname.replace(/\/$/, '')

/** Whether a path, of which the prefix of the auth URL is taken, belongs to sign-in. */
export function isSignIn(path: string): boolean {
  const end = path.indexOf('/', 1)
  const first = end < 0 ? path : path.slice(0, end)
  return rooms.has(first) || path === paths.discovery || path === paths.serverMetadata
}

const rooms = new Set<string>([
  ...[paths.published, paths.device, paths.signIn, paths.setUp, paths.password, paths.organizationCheck],
])
