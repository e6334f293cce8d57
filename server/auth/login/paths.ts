// The paths of sign-in, below the auth URL.

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
  /** The script of the sign-in pages. */
  passkeyScript: '/sign-in.js',
  /**
   * Followed by the uid of an organization's identity provider, this is the redirect URI registered at that provider.
   */
  callback: '/oauth/callback',
  setUp: '/set-up',
  password: '/password',
  /** Followed by the code of an invite. */
  invite: '/invite',
  /** The sign-in of published clients (published/start.ts). */
  published: '/oauth',
  publishedReturn: '/oauth/finish',
  organizationCheck: '/orgcheck',
} as const

/** The paths of console sessions, below the base URL: the console and its cookie have the origin of the API. */
export const consolePaths = {
  home: '/console/',
  signIn: '/console/sign-in',
  signedIn: '/console/signed-in',
  token: '/console/token',
  signOut: '/console/sign-out',
  testSignIn: '/console/test-sign-in',
  testedSignIn: '/console/tested-sign-in',
} as const

const consoleSessionPaths = new Set<string>([
  ...[consolePaths.signIn, consolePaths.signedIn, consolePaths.token, consolePaths.signOut],
  ...[consolePaths.testSignIn, consolePaths.testedSignIn],
])

export const isConsoleSessionPath = (path: string) => consoleSessionPaths.has(path)

/** `paths.published` (`/oauth`) is also the first segment of the OAuth paths. */
const firstSegments = new Set<string>([
  ...[
    paths.published,
    paths.device,
    paths.signIn,
    paths.setUp,
    paths.password,
    paths.organizationCheck,
    paths.invite,
    paths.passkeyScript,
  ],
])

/** Whether a path, without the prefix of the auth URL, belongs to sign-in. */
export function isSignInPath(path: string): boolean {
  const end = path.indexOf('/', 1)
  const firstSegment = end < 0 ? path : path.slice(0, end)
  return firstSegments.has(firstSegment) || path === paths.discovery || path === paths.serverMetadata
}

const providerPaths: readonly string[] = [
  ...[paths.discovery, paths.serverMetadata, paths.authorization, paths.token, paths.revocation],
  ...[paths.deviceAuthorization, paths.logout, paths.device],
]

/**
 * oidc-provider has pages one segment below these paths: interrupted sign-ins by their id, and the steps of a logout.
 */
const parentPaths: readonly string[] = [paths.authorization, paths.device, paths.logout]

/** Whether oidc-provider answers requests for a path. */
export const isOidcProviderPath = (path: string) =>
  providerPaths.includes(path) ||
  parentPaths.some((base) => path.startsWith(`${base}/`) && /^[\w-]+$/.test(path.slice(base.length + 1)))
