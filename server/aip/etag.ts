// Entity tags (RFC 9110): a resource's tag changes with every change of the resource, and with nothing else.
import { aborted } from './errors.ts'

export const etagOf = (updateTime: number) => `"${updateTime}"`

/** Holds what a caller has seen against what is there. A weak tag matches nothing, as the RFC asks here. */
export function requireMatch(ifMatch: string | undefined, updateTime: number): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  const current = etagOf(updateTime)
  if (ifMatch.split(',').some((tag) => tag.trim() === current)) return
  throw changed()
}

/** Nothing matches what is not there any more. */
export function requireNone(ifMatch: string | undefined): void {
  if (ifMatch !== undefined) throw changed()
}

const changed = () =>
  aborted('the resource has changed since it was read; read it again, then repeat the change', 412)
