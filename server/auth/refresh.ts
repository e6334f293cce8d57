// Refresh tokens: each is good for one use, which yields the next. One that comes a second time was stolen, or
// its successor was, and ends all that came from the same sign-in.
import { randomBytes } from 'node:crypto'
import { invalidField, unauthenticated } from '../aip/errors.ts'
import { digestOf, equalInConstantTime } from '../crypto/digest.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
import type { Narrowing } from '../wire/caller.ts'
import type { KeyRing } from './keys.ts'
import { signInSecond } from './login/states.ts'
import { givenAudiences, mintToken, tokenLifetime } from './tokens.ts'

export type Issued = { token: string; expiry: number }

export type RefreshTokens = {
  /** The first token of a family, at sign-in. */
  issue(identity: string, audience: string): Promise<Issued>
  use(
    token: string,
    audiences: readonly string[],
    narrowing: Narrowing,
  ): Promise<{ access: Issued; refresh: Issued }>
  /** Ends a family by any of its tokens, known or not. */
  revoke(token: string): Promise<void>
}

export type RefreshOptions = { store: Store; keys: KeyRing; authUrl: string; baseUrl: string; now(): number }

const lifetime = 30 * 24 * 60 * 60 * 1000
const longest = 4096
const idSize = 16
const secretSize = 32

/** As clients read it: base64 of JSON with `exp`. The id finds the row, the secret proves the bearer. */
type Content = { iss: string; sub: string; aud: string; iat: number; exp: number; id: string; secret: string }

const refused = (cause: string) =>
  unauthenticated('the refresh token is not valid; sign in again', 'error="invalid_token"', new Error(cause))

export function openRefreshTokens({ store, keys, authUrl, baseUrl, now }: RefreshOptions): RefreshTokens {
  function make(identity: string, audience: string, expires: number) {
    const id = randomBytes(idSize).toString('hex')
    const secret = randomBytes(secretSize).toString('base64url')
    const [iat, exp] = [now(), expires].map((time) => Math.floor(time / 1000)) as [number, number]
    const content: Content = { iss: authUrl, sub: identity, aud: audience, iat, exp, id, secret }
    return { id, digest: digestOf(secret), token: Buffer.from(JSON.stringify(content)).toString('base64') }
  }

  function* insert(id: string, digest: string, family: string, row: Row): Work<void> {
    const { identity, audience, expires } = row
    yield sql`insert into refresh_tokens (id, family, identity, audience, digest, expire_time)
      values (${id}, ${family}, ${identity}, ${audience}, ${digest}, ${expires})`
  }

  return {
    issue: (identity, audience) =>
      store.write(function* () {
        const start = yield* signInSecond(identity, now())
        const expires = start * 1000 + lifetime
        const { id, digest, token } = make(identity, audience, expires)
        yield* insert(id, digest, id, { identity, audience, expires })
        return { token, expiry: expires }
      }),

    async use(token, audiences, narrowing) {
      const content = contentOf(token)
      const outcome = await store.write(function* (): Work<Used | string> {
        const found = yield* findRow(content)
        if (typeof found === 'string') return found
        const { family, identity, expires } = found
        // It ends the family for good, so this is answered, not thrown.
        const isSignedOut = (expires - lifetime) / 1000 <= found.signedOut
        if (found.isUsed || expires <= now() || isSignedOut) {
          yield sql`delete from refresh_tokens where family = ${family}`
          return found.isUsed ? 'it was used before' : 'it has expired, or its bearer was signed out'
        }
        const audience = audienceOf(audiences, found.audience, givenAudiences(baseUrl, authUrl))
        const next = make(identity, audience, expires)
        yield sql`update refresh_tokens set is_used = 1 where id = ${content.id}`
        yield* insert(next.id, next.digest, family, { identity, audience, expires })
        return { identity, audience, expires, token: next.token }
      })
      if (typeof outcome === 'string') throw refused(outcome)
      const { identity, audience, expires } = outcome
      const access = await mintToken(keys, { issuer: authUrl, audience }, identity, now(), { narrowing })
      const accessExpiry = (Math.floor(now() / 1000) + tokenLifetime) * 1000
      return {
        access: { token: access, expiry: accessExpiry },
        refresh: { token: outcome.token, expiry: expires },
      }
    },

    async revoke(token) {
      const content = contentOf(token)
      await store.write(function* () {
        const found = yield* findRow(content)
        if (typeof found !== 'string') yield sql`delete from refresh_tokens where family = ${found.family}`
      })
    },
  }
}

type Row = { identity: string; audience: string; expires: number }
type Used = Row & { token: string }
/** `signedOut` is the second of the last sign-out everywhere. */
type Found = Row & { family: string; isUsed: boolean; signedOut: number }

/** A family is handled by one at a time: its first token, which bears its name, is the lock. */
function* findRow({ id, secret }: Content): Work<Found | string> {
  const member = yield* first(sql`select family from refresh_tokens where id = ${id}`)
  if (!member) return 'there is no such token'
  const family = member[0] as string
  yield sql`select id from refresh_tokens where id = ${family} /*pg for update */`
  const row = yield* first(sql`select t.identity, t.audience, t.digest, t.expire_time, t.is_used, o.second
    from refresh_tokens t left join sign_outs o on o.identity = t.identity where t.id = ${id}`)
  if (!row) return 'its family was ended'
  const [identity, audience, digest, ...rest] = row as [string, string, string, number, number, number | null]
  const [expires, isUsed, signedOut] = rest
  if (!equalInConstantTime(digest, digestOf(secret))) return 'its secret is another'
  return { family, identity, audience, expires, isUsed: isUsed !== 0, signedOut: signedOut ?? 0 }
}

/** Whether something has the form of these tokens; there are others (login/provider.ts). */
export const isRefreshToken = (token: string) => readContent(token) !== undefined

function contentOf(token: string): Content {
  const content = readContent(token)
  if (!content) throw refused('it is no refresh token')
  return content
}

function readContent(token: string): Content | undefined {
  try {
    const content = token.length <= longest ? JSON.parse(Buffer.from(token, 'base64').toString()) : {}
    const { id, secret } = content as Partial<Content>
    const isOne = typeof id === 'string' && /^[0-9a-f]{32}$/.test(id) && typeof secret === 'string'
    return isOne ? (content as Content) : undefined
  } catch {
    return undefined
  }
}

function audienceOf(asked: readonly string[], before: string, allowed: readonly string[]): string {
  const [one = before, ...more] = asked
  if (more.length > 0 || (one !== before && !allowed.includes(one)))
    throw invalidField('aud', `must be one of ${allowed.join(', ')}`)
  return one
}
