import { isUid } from '../aip/uid.ts'
import type { Work } from '../store/work.ts'
import { holds, parseGrants } from './grants.ts'
import { readGrantsOf } from './read-grants.ts'

/** Whether an identity holds a capability at a uid: for pages of a browser, whose requests have no access token. */
export function* isHeldBy(identity: string, capability: number, uid: string, time: number): Work<boolean> {
  if (!isUid(uid)) return false
  const list = yield* readGrantsOf(identity, time, uid, parseGrants)
  return holds({ caller: { identity, issuedAt: 0 }, time, list }, [capability], uid)
}
