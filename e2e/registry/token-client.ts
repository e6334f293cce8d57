// The token protocol of the registry, as clients speak it.
import assert from 'node:assert/strict'

export const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

export type TokenBody = {
  token: string
  access_token: string
  expires_in: number
  issued_at: string
  scope: string
  refresh_token?: string
  errors?: { code: string; message: string }[]
}

export type TokenAnswer = { status: number; headers: Headers; body: TokenBody }

const answerOf = async (response: Response): Promise<TokenAnswer> => ({
  ...{ status: response.status, headers: response.headers, body: (await response.json()) as TokenBody },
})

/** Asks the token endpoint with GET. Each scope is sent as its own parameter. */
export async function getToken(
  url: string,
  scopes: readonly string[],
  authorization?: string,
): Promise<TokenAnswer> {
  const query = new URLSearchParams(scopes.map((scope): [string, string] => ['scope', scope]))
  query.append('service', 'stemma.test')
  return answerOf(
    await fetch(`${url}/v2/token?${query}`, { ...(authorization && { headers: { authorization } }) }),
  )
}

export const postToken = async (url: string, form: Record<string, string>): Promise<TokenAnswer> =>
  answerOf(await fetch(`${url}/v2/token`, { method: 'POST', body: new URLSearchParams(form) }))

export type Challenge = { realm: string; service: string; scope?: string; error?: string }

export function challengeOf(response: Response): Challenge {
  const header = response.headers.get('www-authenticate') ?? ''
  assert.match(header, /^Bearer [a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*$/)
  return Object.fromEntries(
    [...header.matchAll(/([a-z]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  )
}

/** Sends a request, and repeats it with a token for the scope of the challenge. */
export async function withChallenge(
  url: string,
  method: string,
  path: string,
  authorization?: string,
  init: RequestInit = {},
): Promise<Response> {
  const refused = await fetch(`${url}${path}`, { ...init, method })
  if (refused.status !== 401) return refused
  const { scope } = challengeOf(refused)
  const { body } = await getToken(url, scope === undefined ? [] : [scope], authorization)
  return fetch(`${url}${path}`, {
    ...{ ...init, method },
    headers: { ...init.headers, authorization: `Bearer ${body.token}` },
  })
}
