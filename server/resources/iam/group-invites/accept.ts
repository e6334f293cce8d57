// Accepts an invite for a person who has signed in.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { failedPrecondition, invalidField } from '../../../aip/errors.ts'
import { parentOf } from '../../../aip/uid.ts'
import { digestOf, equalInConstantTime } from '../../../crypto/digest.ts'
import { recordEvent } from '../../../store/events/record.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { removeEntry } from '../../delete.ts'
import type { WriteContext } from '../../dependencies.ts'
import { messageOf } from '../../kind.ts'
import { bindRole } from '../binding.ts'
import { keyIdOf } from './code.ts'
import { groupInvites } from './table.ts'
import { forgetUnclaimed } from './unclaimed-organizations.ts'

export type Guest = {
  identity: string
  /** The e-mail address of the person if it is verified; undefined if the person has only typed it. */
  email: string | undefined
}

export type Accepted = { group: string; role: string }

/** Every code that does not work gets the same error, so that guessing reveals nothing. */
const unusable = () =>
  invalidField(
    'code',
    'is not the code of an invite that you can accept; ask for another invite, or sign in with the verified e-mail address that the invite is for',
  )

type Invite = { uid: string; roleUid: string; singleUse: boolean }

/** Returns the invite of a code. Throws unless a person with this verified address can accept the invite. */
function* findInvite(now: number, code: string, verifiedEmail: string | undefined): Work<Invite> {
  const keyId = keyIdOf(code)
  const row =
    keyId !== undefined &&
    (yield* first(
      sql`select uid, proto, digest from group_invites where key_id = ${keyId} /*pg for update */`,
    ))
  if (!row) throw unusable()
  const [uid, proto, digest] = row as [string, Uint8Array, string]
  const { roleUid, email, expirationTime, singleUse } = messageOf(groupInvites, proto)
  if (!equalInConstantTime(digestOf(code), digest) || !expirationTime || timestampMs(expirationTime) <= now)
    throw unusable()
  if (email !== '' && email.toLowerCase() !== verifiedEmail?.toLowerCase()) throw unusable()
  return { uid, roleUid, singleUse }
}

/**
 * Binds the guest to the role of the invite, and deletes a single-use invite. If the guest already
 * has this binding, it is kept, and no longer expires.
 */
export function* acceptInvite(context: WriteContext, code: string, guest: Guest): Work<Accepted> {
  const { uid, roleUid, singleUse } = yield* findInvite(context.now(), code, guest.email)
  const group = parentOf(uid)
  const role = yield* first(sql`select uid from roles where uid = ${roleUid} /*pg for key share */`)
  if (!role) throw failedPrecondition('ROLE_IS_GONE', 'the role that this invite offers was deleted')
  yield* bindRole(context, guest.identity, roleUid, group)
  // Even if the guest deletes this binding later, the organization has been claimed.
  yield forgetUnclaimed(group)
  const event = { group, kind: 'group_invites', uid, action: 'accepted' }
  yield* recordEvent(context.access, { ...event, details: { identity: guest.identity, role: roleUid } })
  if (singleUse) yield* removeEntry(context.access, groupInvites, uid)
  return { group, role: roleUid }
}
