// Describes an invite to the person who has its code, before they sign in.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { lineage, parentOf } from '../../../aip/uid.ts'
import { digestOf, equalInConstantTime } from '../../../crypto/digest.ts'
import { among, sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { all, first } from '../../../store/work.ts'
import type { InviteDescription } from '../../../wire/invite-description.ts'
import { messageOf } from '../../kind.ts'
import { identities } from '../identities/table.ts'
import { keyIdOf } from './code.ts'
import { groupInvites } from './table.ts'

/** Undefined if no invite has the code, or its role was deleted. An invite that has expired is described, too. */
export function* describeInvite(code: string): Work<InviteDescription | undefined> {
  const keyId = keyIdOf(code)
  const row =
    keyId !== undefined &&
    (yield* first(sql`select uid, proto, digest, creator from group_invites where key_id = ${keyId}`))
  if (!row) return undefined
  const [uid, proto, digest, creator] = row as [string, Uint8Array, string, string]
  if (!equalInConstantTime(digestOf(code), digest)) return undefined
  const { roleUid, email, expirationTime } = messageOf(groupInvites, proto)
  const role = yield* first(sql`select name from roles where uid = ${roleUid}`)
  if (!role) return undefined
  const groups = yield* all(sql`select name, second_factor_required from groups
    where uid in ${among(lineage(parentOf(uid)))} order by length(uid)`)
  return {
    ...{ groups: groups.map(([name]) => String(name)), role: String(role[0]), email },
    // The first group is the organization; only organizations require a second factor.
    requiresSecondFactor: groups[0]?.[1] === 1,
    creator: yield* nameOf(creator),
    expires: expirationTime ? timestampMs(expirationTime) : 0,
  }
}

function* nameOf(identity: string): Work<string | undefined> {
  const row = identity !== '' && (yield* first(sql`select proto from identities where uid = ${identity}`))
  if (!row) return undefined
  const { name, email } = messageOf(identities, row[0] as Uint8Array)
  return email ?? name
}
