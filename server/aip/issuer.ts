// Which issuers of tokens may be named at all.

export type IssuerRule = {
  /** Whether http is allowed on this very machine: only while the server itself is reached there. */
  isLoopbackAllowed: boolean
  /** Issuers that the operator trusts although they are not public https. */
  trusted: readonly string[]
}

export function issuerRuleOf(config: { baseUrl: string; trustedIssuers: readonly string[] }): IssuerRule {
  return { isLoopbackAllowed: isLoopback(new URL(config.baseUrl)), trusted: config.trustedIssuers }
}

/** What is wrong with an issuer. It is compared with tokens byte by byte, so its spelling is left alone. */
export function issuerFault(issuer: string, { isLoopbackAllowed, trusted }: IssuerRule): string | undefined {
  if (trusted.includes(issuer)) return undefined
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  if (!url || !/^https?:\/\/[!-~]+$/.test(issuer)) return 'must be an https URL'
  if (url.username !== '' || url.password !== '') return 'must be a URL without user or password'
  if (/[?#]/.test(issuer)) return 'must be a URL without query or fragment'
  if (url.protocol === 'https:' || (isLoopbackAllowed && isLoopback(url))) return undefined
  return 'must be an https URL; the operator of this server can allow others with STEMMA_TRUSTED_ISSUERS'
}

const isLoopback = ({ hostname }: URL) =>
  hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
