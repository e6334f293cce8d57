import type { Method } from '@stemma/api/method.ts'

const tokenServices = new Set([
  'platform.oidc.SecurityTokenService',
  'platform.registry.content.RegistryTokens',
])

/**
 * Whether the method is performed by the writer: the worker that the others hand their writes to on SQLite. Token
 * exchanges write little, so every worker performs its own.
 */
export const isWrite = ({ isRead, desc }: Method): boolean =>
  !isRead && !tokenServices.has(desc.parent.typeName)
