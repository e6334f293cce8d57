/**
 * Checks the URL of a server and removes trailing slashes.
 *
 * @example
 * ```ts
 * checkBaseUrl('https://stemma.example.com/') // 'https://stemma.example.com'
 * ```
 */
export function checkBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  const hasOnlyOriginAndPath = url && url.username + url.password === '' && !/[?#\s]/.test(baseUrl)
  if (!hasOnlyOriginAndPath || !/^https?:$/.test(url.protocol))
    throw new TypeError('baseUrl must be an http or https URL without a user, a query, a fragment or spaces')
  return baseUrl.replace(/\/+$/, '')
}
