import type { AdministrationDependencies } from '../auth/administration/administration.ts'
import type { KeyRing } from '../auth/keys/key-ring.ts'
import type { KeyDependencies } from '../auth/keys/stored-keys.ts'
import type { Dependencies } from '../resources/dependencies.ts'

/** Facts about the server. Only the free bytes change while it runs. */
export type ServerFacts = {
  version: string
  /** Milliseconds since 1970. */
  startTime: number
  workers: number
  contentStorage: 'files' | 's3'
  /** Bytes that are free in the data folder. Undefined if the server stores nothing there. */
  readFreeBytes(): Promise<number | undefined>
}

/** Passed to the services for operators. */
export type OperatorDependencies = Pick<
  Dependencies,
  'store' | 'validatesOnly' | 'pageSeals' | 'maxListRows' | 'settings' | 'now' | 'random'
> & {
  operating: Pick<AdministrationDependencies, 'states'> &
    Pick<KeyDependencies, 'secret' | 'tokenAlgorithm'> & { keys: KeyRing; facts: ServerFacts }
}
