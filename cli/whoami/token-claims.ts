// Claims of the caller's own access token. The server verifies them; here they are only shown.

export type SignIn = {
  /** `server` is a sign-in without an identity provider; `operator` a token that a command of `stemmad` made. */
  method: 'identity-provider' | 'exchange' | 'server' | 'operator'
  /** Uid of the identity provider. */
  identityProvider?: string
  /** Issuer of the token that was exchanged. */
  issuer?: string
  /** Subject of the token that was exchanged. */
  subject?: string
  /** When the person signed in. */
  time?: string
}

export type TokenClaims = {
  signIn: SignIn
  /** Uids of the groups that the token is limited to. */
  scopes?: string[]
  /** Names of the capabilities that the token is limited to. */
  capabilities?: string[]
}

export function claimsOf(token: string): TokenClaims {
  const claims = parsePayload(token)
  const scopes = stringsIn(claims.scopes)
  const capabilities = stringsIn(claims.cap)
  return { signIn: signInOf(claims), ...(scopes && { scopes }), ...(capabilities && { capabilities }) }
}

function signInOf(claims: Record<string, unknown>): SignIn {
  const { sign_in } = claims
  const { idp, time } = objectIn(sign_in)
  const { iss, sub } = objectIn(claims.act)
  const timeField = typeof time === 'number' ? { time: new Date(time * 1000).toISOString() } : {}
  if (typeof idp === 'string') return { method: 'identity-provider', identityProvider: idp, ...timeField }
  // The tokens of a person who signed in on this server name the server and the person in `act`.
  const isOwnSignIn = sign_in !== undefined && iss === claims.iss && sub === claims.sub
  if (typeof iss === 'string' && typeof sub === 'string' && !isOwnSignIn)
    return { method: 'exchange', issuer: iss, subject: sub, ...timeField }
  return { method: sign_in === undefined ? 'operator' : 'server', ...timeField }
}

/** Returns an empty object for a token that is not a JSON Web Token; the server rejects it with a better message. */
function parsePayload(token: string): Record<string, unknown> {
  try {
    return objectIn(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()))
  } catch {
    return {}
  }
}

const objectIn = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const stringsIn = (value: unknown): string[] | undefined =>
  Array.isArray(value) ? value.map(String) : undefined
