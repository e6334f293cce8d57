// Organizations that require a second factor of their people.
import { failedPrecondition } from '../../aip/errors.ts'
import { isLiveAt } from '../../store/expiry.ts'
import { principalsOf } from '../../store/external-groups.ts'
import { sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { all } from '../../store/work.ts'
import type { SignIn } from '../../wire/caller.ts'
import { lockPerson } from './lock-person.ts'
import { hasSecondFactor, secondFactorsOf } from './second-factors.ts'

const maxListed = 100

/** The uids of the organizations in which a person has a role and which require a second factor. */
export function* requiringOrganizations(identity: string, now: number): Work<string[]> {
  const rows = yield* all(sql`select distinct g.uid from role_bindings b join groups g on g.uid = b.root
    where b.identity in ${principalsOf([identity], now)} and ${isLiveAt(now, 'b')}
    and g.second_factor_required = 1 order by g.uid limit ${maxListed}`)
  return rows.map(([uid]) => uid as string)
}

/**
 * Authentication methods that prove a second factor: a code of an app (`otp` of RFC 8176), or a
 * passkey (`hwk`), whose device asks for a fingerprint, face or PIN. A recovery code replaces them.
 */
const strongMethods: readonly string[] = ['otp', 'hwk', 'recovery']

export const provesSecondFactor = (methods: readonly string[] = []) =>
  methods.some((method) => strongMethods.includes(method))

/**
 * Whether a sign-in has not proven a second factor although an organization requires one: it took
 * place before one was required of the person, or before the person had one. Such a sign-in is not
 * renewed; at the next sign-in, the person is asked for the second factor, or sets it up. Always
 * false for a sign-in through an identity provider.
 */
export function* lacksRequiredFactor(
  { person, provider, hasSecondFactor: isProven }: Pick<SignIn, 'person' | 'provider' | 'hasSecondFactor'>,
  now: number,
): Work<boolean> {
  if (provider !== undefined || isProven) return false
  return (yield* requiringOrganizations(person, now)).length > 0
}

/** Called after a second factor was removed, in the same transaction. */
export function* requireRemainingFactor(identity: string, now: number): Work<void> {
  // Otherwise two concurrent removals would each still see the factor that the other removes.
  yield* lockPerson(identity)
  if (hasSecondFactor(yield* secondFactorsOf(identity))) return
  const [organization] = yield* requiringOrganizations(identity, now)
  if (organization !== undefined)
    throw failedPrecondition(
      'SECOND_FACTOR_REQUIRED',
      `organization ${organization} requires a second factor; add another one before you remove the last`,
    )
}
