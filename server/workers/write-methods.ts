import type { Method } from '@stemma/api/method.ts'

const tokenService = 'platform.oidc.SecurityTokenService'

/** Whether the writer performs the method. Token exchanges write little, so every worker performs its own. */
export const isWrite = ({ isRead, desc }: Method): boolean => !isRead && desc.parent.typeName !== tokenService
