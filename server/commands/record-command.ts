import { parentOf } from '../aip/uid.ts'
import type { AccountAction } from '../store/events/authentication-actions.ts'
import { serverLog } from '../store/events/event-row.ts'
import type { EventDetails, Recording } from '../store/events/record.ts'
import { recordEvent } from '../store/events/record.ts'
import type { Work } from '../store/work.ts'

/** Records a command that concerns the whole server, such as the action `restored` on the kind `store`. */
export const recordCommand = (
  access: Recording,
  kind: string,
  action: string,
  details?: EventDetails,
): Work<void> =>
  recordEvent(access, { group: serverLog, kind, uid: serverLog, action, ...(details && { details }) })

/** Records a command in the organization of an identity; for a person, in the log of the person. */
export const recordForIdentity = (access: Recording, identity: string, action: AccountAction): Work<void> =>
  recordEvent(access, { group: parentOf(identity) || identity, kind: 'identities', uid: identity, action })
