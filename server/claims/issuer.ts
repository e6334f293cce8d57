// Which token issuers an identity or an identity provider may name.

export type IssuerRule = {
  /** Whether http issuers on this machine are allowed: only while the server's own base URL is loopback. */
  isLoopbackAllowed: boolean
  /** Issuers that the operator trusts although they have no public https URL. */
  trusted: readonly string[]
}

type IssuerSettings = { baseUrl: string; authUrl: string; trustedIssuers: readonly string[] }

/** The issuer of this server is trusted, whatever its URL is. */
export function issuerRuleOf({ baseUrl, authUrl, trustedIssuers }: IssuerSettings): IssuerRule {
  return { isLoopbackAllowed: isLoopback(new URL(baseUrl)), trusted: [...trustedIssuers, authUrl] }
}

/** Describes what is wrong with an issuer. It is never normalized: tokens must name it byte for byte. */
export function issuerFault(issuer: string, { isLoopbackAllowed, trusted }: IssuerRule): string | undefined {
  if (trusted.includes(issuer)) return undefined
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  if (!url || !/^https?:\/\/[!-~]+$/.test(issuer)) return 'must be an https URL'
  if (url.username !== '' || url.password !== '') return 'must be a URL without user or password'
  if (/[?#]/.test(issuer)) return 'must be a URL without query or fragment'
  if (url.protocol === 'https:' || (isLoopbackAllowed && isLoopback(url))) return undefined
  return 'must be an https URL; the operator of this server can allow others with STEMMA_TRUSTED_ISSUERS'
}

/** Whether requests to an issuer may go to private addresses and use http. */
export function isTrustedIssuer(issuer: string, { isLoopbackAllowed, trusted }: IssuerRule): boolean {
  return trusted.includes(issuer) || (isLoopbackAllowed && isLoopback(new URL(issuer)))
}

export const isLoopback = ({ hostname }: URL) =>
  hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
