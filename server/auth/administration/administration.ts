// Actions of operators on the people of a server, for `stemmad users` and for the API
// (server/operators/people.ts). Every function runs in the transaction of its caller, and leaves an
// entry in the log of the person. Nothing here returns or records a password.
import type { RandomBytes } from '../../crypto/random.ts'
import type { AccountAction } from '../../store/events/authentication-actions.ts'
import type { Recording } from '../../store/events/record.ts'
import { recordEvent } from '../../store/events/record.ts'
import type { Work } from '../../store/work.ts'
import type { WriteAccess } from '../../store/write-access.ts'
import { makePasswordLink } from '../login/accounts.ts'
import type { ExpiringStates } from '../login/expiring-states.ts'
import type { People } from '../login/people.ts'
import { removeSecondFactors } from '../second-factors/second-factors.ts'
import { disablePerson, enablePerson, signOutEverywhere } from '../sign-outs.ts'
import { findLogin, findPerson } from './find-person.ts'

export type AdministrationDependencies = {
  states: ExpiringStates
  authUrl: string
  now(): number
  random: RandomBytes
}

/** `person` is the uid of a person, or the e-mail address of a local account. All results contain the uid. */
export type Administration = {
  signOut(access: Recording, person: string): Work<string>
  disable(access: Recording, person: string): Work<string>
  enable(access: Recording, person: string): Work<string>
  /** Removes passkeys, authenticator app and recovery codes, and signs the person out everywhere. */
  resetSecondFactors(access: Recording, person: string): Work<string>
  /** Removes the password and ends all sign-ins. At the link, the person can choose a password once. */
  resetPassword(access: Recording, person: string): Work<{ identity: string; link: string }>
  /**
   * Deletes a person with their account and all their role bindings. A person who signs in through a provider can come
   * back, without roles; to keep somebody out, disable them.
   */
  remove(people: Pick<People, 'remove'>, access: WriteAccess, person: string): Work<string>
}

export function openAdministration(deps: AdministrationDependencies): Administration {
  const { now } = deps
  const change = (action: AccountAction, run: (identity: string) => Work<void>) =>
    function* (access: Recording, person: string): Work<string> {
      const identity = yield* findPerson(person)
      yield* run(identity)
      yield* recordAccountEvent(access, identity, action)
      return identity
    }
  return {
    signOut: change('signed-out', (identity) => signOutEverywhere(identity, now())),
    disable: change('disabled', (identity) => disablePerson(identity, now())),
    enable: change('enabled', (identity) => enablePerson(identity, now())),
    resetSecondFactors: change('second-factors-removed', function* (identity) {
      yield* removeSecondFactors(identity)
      yield* signOutEverywhere(identity, now())
    }),
    *resetPassword(access, person) {
      const { identity } = yield* findLogin(person)
      const link = yield* makePasswordLink(deps, identity)
      yield* recordAccountEvent(access, identity, 'password-reset')
      return { identity, link }
    },
    *remove(people, access, person) {
      const identity = yield* findPerson(person)
      yield* people.remove(access, identity)
      return identity
    },
  }
}

/** An entry in the log of the person. */
export const recordAccountEvent = (access: Recording, identity: string, action: AccountAction): Work<void> =>
  recordEvent(access, { group: identity, kind: 'accounts', uid: identity, action })
