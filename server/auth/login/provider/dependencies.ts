import type { Store } from '../../../store/db.ts'
import type { KeyRing } from '../../keys/key-ring.ts'
import type { ExpiringStates } from '../expiring-states.ts'
import type { Profile } from '../people.ts'
import type { DevicePages } from './device-pages.ts'

export type ProviderDependencies = {
  store: Store
  states: ExpiringStates
  keys: KeyRing
  authUrl: string
  baseUrl: string
  /** Keys that sign the cookies; the same on every copy of the server. */
  cookieKeys: string[]
  devicePages: DevicePages
  /** The address of the client whose request is being answered. */
  clientAddress(): string
  findPerson(identity: string): Promise<Profile | undefined>
  onError(error: Error): void
}
