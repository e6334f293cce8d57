// Recovery codes: each works once, in place of another second factor.
import { digestOf } from '../../crypto/digest.ts'
import type { RandomBytes } from '../../crypto/random.ts'
import { bulkInsert, raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { lockPerson } from './lock-person.ts'
import { base32Of } from './totp.ts'

const count = 10
/** 80 bits: cannot be guessed, even by somebody who has the digests. */
const codeSize = 10

/** Replaces all codes of a person. Only the digests are stored. */
export function* makeRecoveryCodes(random: RandomBytes, identity: string): Work<string[]> {
  const codes = Array.from({ length: count }, () => base32Of(random(codeSize)).toLowerCase())
  yield* lockPerson(identity) // so that the codes of a concurrent call are replaced, too
  yield sql`delete from recovery_codes where identity = ${identity}`
  yield bulkInsert(
    raw('insert into recovery_codes (identity, digest)'),
    codes.map((code) => [identity, digestFor(identity, code)]),
  )
  return codes.map((code) => (code.match(/.{4}/g) ?? []).join('-'))
}

/** Whether a typed text has the form of a recovery code, and is no code of an authenticator app. */
export const isRecoveryCode = (typed: string) => /^[a-z2-7]{16}$/.test(normalized(typed))

/** Returns false if the person has no such code, or has used it. Of two concurrent uses, one succeeds. */
export function* useRecoveryCode(identity: string, typed: string): Work<boolean> {
  const rows = yield sql`delete from recovery_codes
    where identity = ${identity} and digest = ${digestFor(identity, normalized(typed))} returning identity`
  return rows.length > 0
}

const normalized = (typed: string) => typed.replaceAll(/[\s-]/g, '').toLowerCase()

// The time that SQL takes to compare digests reveals nothing about the codes: nobody can choose a
// text with a given digest.
const digestFor = (identity: string, code: string) => digestOf(`recovery code ${identity} ${code}`)
