// Refresh tokens of oidc-provider that are used again within the grace period (refresh/grace.ts). The id of a successor is
// derived from the token that it replaces. So if a token is used again, even at the same time on another copy of the
// server, oidc-provider issues the same successor again. With two different successors, a thief and the owner of the
// token could each go on with one, and nobody would notice.
import { createHmac } from 'node:crypto'
import { Provider } from 'oidc-provider'
import type { Secret } from '../../../crypto/secret.ts'
import type { Work } from '../../../store/work.ts'
import { isInGracePeriod } from '../../refresh/grace.ts'
import type { ExpiringState, ExpiringStates } from '../expiring-states.ts'

/** The name of refresh tokens in oidc-provider. */
export const refreshTokenKind = 'RefreshToken'

/** Returns the function that derives the id of the successor of a refresh token. */
export function openSuccessors(secret: Secret): (id: string) => string {
  const key = secret.derive('successors of refresh tokens')
  return (id) => createHmac('sha256', key).update(id).digest('base64url')
}

/** Makes a provider derive the ids of successors. It generates the ids of other refresh tokens randomly. */
export function deriveRefreshTokenIds({ RefreshToken }: Provider, successorOf: (id: string) => string): void {
  // Not in the types of oidc-provider; `save` calls this function for a token without an id.
  const prototype = RefreshToken.prototype as unknown as { generateTokenId(): string }
  const generateRandomly = prototype.generateTokenId
  prototype.generateTokenId = function () {
    const rotated = Provider.ctx?.oidc.entities.RotatedRefreshToken
    return rotated ? successorOf(rotated.jti) : generateRandomly.call(this)
  }
}

/** How many successors of a used token are looked up at most. If it has more of them, using it again ends the sign-in. */
const maxFollowed = 100

type FindDependencies = { states: ExpiringStates; successorOf(id: string): string; now(): number }

/**
 * Finds a refresh token. If it was used and may be used again, returns the last used token among it
 * and its successors, marked as unused. Then oidc-provider issues the successor of that token again,
 * which nobody has used yet.
 */
export function* findRefreshToken(
  { states, successorOf, now }: FindDependencies,
  id: string,
): Work<ExpiringState | undefined> {
  const isReusable = (state: ExpiringState) => isInGracePeriod(state.useTime, now())
  let state = yield* states.find(refreshTokenKind, id)
  for (let count = 0, current = id; state && isReusable(state) && count < maxFollowed; count++) {
    current = successorOf(current)
    const next = yield* states.find(refreshTokenKind, current)
    if (!next || !isReusable(next)) return { ...state, useTime: undefined }
    state = next
  }
  return state
}
