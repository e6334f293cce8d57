/** The URL of a link in somebody else's text; undefined if its scheme is not allowed. */
export function safeUrl(text: string): string | undefined {
  const url = URL.parse(text)
  return url && ['https:', 'mailto:'].includes(url.protocol) ? url.href : undefined
}
