// Which issuers of tokens may be named at all.

export type IssuerRule = {
  /** Whether http is allowed on this very machine: only while the server itself is reached there. */
  isLoopbackAllowed: boolean
  /** Issuers that the operator trusts although they are not public https. */
  trusted: readonly string[]
}

type IssuerSettings = { baseUrl: string; authUrl: string; trustedIssuers: readonly string[] }

/** We are an issuer ourselves, wherever we are. */
export function issuerRuleOf({ baseUrl, authUrl, trustedIssuers }: IssuerSettings): IssuerRule {
  return { isLoopbackAllowed: isLoopback(new URL(baseUrl)), trusted: [...trustedIssuers, authUrl] }
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

/** Whether an issuer is one that may lie anywhere: on this machine, or where the operator trusts it. */
export function isSpecial(issuer: string, { isLoopbackAllowed, trusted }: IssuerRule): boolean {
  return trusted.includes(issuer) || (isLoopbackAllowed && isLoopback(new URL(issuer)))
}

/** Whether an address leads to this very machine. */
export const isLoopback = ({ hostname }: URL) =>
  hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
