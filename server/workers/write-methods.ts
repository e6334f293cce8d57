import type { Method } from '@stemma/api/method.ts'

const tokenService = 'platform.oidc.SecurityTokenService'

/** Whether the writer performs the method. Token exchanges write little, so every worker performs its own. */
export const isWrite = ({ bindings: [binding], desc }: Method): boolean =>
  binding !== undefined && binding.verb !== 'GET' && desc.parent.typeName !== tokenService
