import type { Method } from '@stemma/api/method.ts'

const tokenService = 'platform.oidc.SecurityTokenService'

/** Whether the method writes to the store. An exchange does not: it only records later that the identity was used. */
export const isWrite = ({ bindings: [binding], desc }: Method): boolean =>
  binding !== undefined && binding.verb !== 'GET' && desc.parent.typeName !== tokenService
