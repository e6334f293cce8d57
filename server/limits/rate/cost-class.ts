// Methods with similar cost share a rate limit.
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { RegistryTokens } from '@stemma/api/gen/platform/registry/content/token_pb.ts'
import type { Method } from '@stemma/api/method.ts'

export const costClasses = ['read', 'list', 'write', 'exchange', 'sign-in'] as const
export type CostClass = (typeof costClasses)[number]

const tokenServices = new Set([SecurityTokenService.typeName, RegistryTokens.typeName] as string[])

export function costClassOf({ desc, bindings, isRead, access, isStream }: Method): CostClass {
  if (tokenServices.has(desc.parent.typeName)) return 'exchange'
  if (desc.parent.typeName === Auth.typeName && access?.open) return 'sign-in'
  if (!isRead) return 'write'
  // A read that is sent with POST may be as expensive as a list.
  return isStream || desc.name.startsWith('List') || bindings[0]?.verb === 'POST' ? 'list' : 'read'
}
