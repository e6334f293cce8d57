import type { Provider } from 'oidc-provider'
import type { Secret } from '../../../crypto/secret.ts'
import type { Store } from '../../../store/db.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { RefreshTokens } from '../../refresh/refresh-tokens.ts'
import type { MintDependencies } from '../../tokens/mint.ts'
import type { ExpiringStates } from '../expiring-states.ts'

export type PublishedDependencies = MintDependencies & {
  provider(): Provider
  store: Store
  states: ExpiringStates
  secret: Secret
  exchange: Exchange
  refreshTokens: RefreshTokens
  baseUrl: string
}
