// Methods with similar cost share a rate limit.
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import type { Method } from '@stemma/api/method.ts'

export const costClasses = ['read', 'list', 'write', 'exchange', 'sign-in'] as const
export type CostClass = (typeof costClasses)[number]

export function costClassOf({ desc, isRead, access, isStream }: Method): CostClass {
  if (desc.parent.typeName === SecurityTokenService.typeName) return 'exchange'
  if (desc.parent.typeName === Auth.typeName && access?.open) return 'sign-in'
  if (!isRead) return 'write'
  return isStream || desc.name.startsWith('List') ? 'list' : 'read'
}
