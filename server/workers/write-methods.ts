import type { Method } from '@stemma/api/method.ts'

const tokenServices = new Set([
  'platform.oidc.SecurityTokenService',
  'platform.registry.content.RegistryTokens',
])

/** Whether the writer performs the method. Token exchanges write little, so every worker performs its own. */
export const isWrite = ({ isRead, desc }: Method): boolean =>
  !isRead && !tokenServices.has(desc.parent.typeName)
