import { malformed } from '../../../aip/errors.ts'
import type { Secret } from '../../../crypto/secret.ts'
import type { Store } from '../../../store/db.ts'
import type { ExpiringStates } from '../expiring-states.ts'
import type { PageLog } from '../page-log.ts'
import type { UsePasswords } from '../passwords.ts'
import type { People } from '../people.ts'

export type SetUpDependencies = {
  store: Store
  secret: Secret
  states: ExpiringStates
  people: People
  usePasswords: UsePasswords
  pageLog: PageLog
  authUrl: string
  baseUrl: string
  now(): number
  /** Called after the server was set up or, if `organization` is undefined, after a person has chosen a password. */
  onSetUp(event: { organization?: string; identity: string }): void
}

/** The error for a one-time link that is no longer valid; `advice` says how to get another link. */
export const usedLink = (advice: string) =>
  malformed(`this link was used before, or has expired; ${advice}`, 410)
