import type { KeyRing } from '../../keys/key-ring.ts'
import type { PageEvent } from '../page-log.ts'
import type { Profile } from '../people.ts'
import type { AdapterDependencies } from './adapter.ts'
import type { DevicePages } from './device-pages.ts'

export type ProviderDependencies = AdapterDependencies & {
  keys: KeyRing
  authUrl: string
  baseUrl: string
  /** Keys that sign the cookies; the same on every copy of the server. */
  cookieKeys: string[]
  devicePages: DevicePages
  devicePollSeconds?: number | undefined
  findPerson(identity: string): Promise<Profile | undefined>
  logRefusal: LogRefusal
  /** Called for tokens that were issued, and for sign-outs. */
  onEvent(event: PageEvent): void
  onDisconnect(error: Error): void
  onError(error: Error): void
}

export type LogRefusal = (event: { address: string; reason?: string }, message: string) => void
