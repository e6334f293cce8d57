// What a token keeps its bearer to, where two say so: the one that was presented and the one that is asked for.

import { invalidField } from '../aip/errors.ts'
import { isAtOrBelow, isUid } from '../aip/uid.ts'
import type { Narrowing } from '../wire/caller.ts'

const mostScopes = 100

/** Both hold: a scope that one of them names lies in one of the other, and a capability is named by both. */
export function combine(a: Narrowing, b: Narrowing): Narrowing {
  const capabilities =
    a.capabilities && b.capabilities
      ? a.capabilities.filter((one) => b.capabilities?.includes(one))
      : (a.capabilities ?? b.capabilities)
  const deeper = (one: string, other: string) =>
    isAtOrBelow(one, other) ? [one] : isAtOrBelow(other, one) ? [other] : []
  const scopes =
    a.scopes && b.scopes
      ? [...new Set(a.scopes.flatMap((one) => b.scopes?.flatMap((other) => deeper(one, other)) ?? []))]
      : (a.scopes ?? b.scopes)
  if (scopes && scopes.length > mostScopes)
    throw invalidField('scopes', `must be at most ${mostScopes} together`)
  return { ...(scopes && { scopes }), ...(capabilities && { capabilities }) }
}

/** What somebody asks to be kept to: groups by their uids (`scope` is an older form), capabilities by their names. */
export function narrowingAsked(
  { scope = '', scopes, cap }: { scope?: string; scopes: readonly string[]; cap: readonly string[] },
  isCapability: (name: string) => boolean,
): Narrowing {
  const all = [...new Set([scope, ...scopes].filter(Boolean))]
  const wrong = all.find((one) => !isUid(one))
  if (wrong !== undefined) throw invalidField('scopes', 'must be uids of groups')
  const unknown = cap.find((name) => !isCapability(name))
  if (unknown !== undefined)
    throw invalidField(
      'cap',
      `must be names of capabilities such as groups.list, not ${JSON.stringify(unknown.slice(0, 40))}`,
    )
  return {
    ...(all.length > 0 && { scopes: all }),
    ...(cap.length > 0 && { capabilities: [...new Set(cap)] }),
  }
}
