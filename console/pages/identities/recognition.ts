import type { IdentityJson } from '@stemma/api/json/platform/iam/v2beta1/identity'

/** How an identity proves who it is, in a few words. */
export function recognitionOf({
  claimMatch,
  staticKeys,
  awsIdentity,
  servicePrincipal,
}: IdentityJson): string {
  if (claimMatch) return `tokens of ${hostOf(claimMatch.issuer || claimMatch.issuerPattern || 'an issuer')}`
  if (staticKeys) return `keys of ${hostOf(staticKeys.issuer ?? '')}`
  if (awsIdentity) return `AWS account ${awsIdentity.awsAccount}`
  return servicePrincipal ? 'nothing yet (service principal)' : 'sign-in'
}

const hostOf = (issuer: string) => (URL.canParse(issuer) ? new URL(issuer).host : issuer)
