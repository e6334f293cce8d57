import type { Provider } from 'oidc-provider'
import type { Sealer } from '../../../crypto/secret.ts'
import type { Store } from '../../../store/db.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { RefreshTokens } from '../../refresh/refresh-tokens.ts'
import type { MintDependencies } from '../../tokens/mint.ts'
import type { ExpiringStates } from '../expiring-states.ts'
import type { PageLog } from '../page-log.ts'

export type PublishedDependencies = MintDependencies & {
  provider(): Provider
  store: Store
  states: ExpiringStates
  /**
   * Encrypts the request of the published client, which the browser carries as `state` during the sign-in
   * (client-request.ts).
   */
  sealer: Sealer
  exchange: Exchange
  refreshTokens: RefreshTokens
  pageLog: PageLog
  baseUrl: string
}
