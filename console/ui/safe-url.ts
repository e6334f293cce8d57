/** The address of a link that somebody else has written, if the console may offer it. */
export function safeUrl(text: string): string | undefined {
  const url = URL.parse(text)
  return url && ['https:', 'mailto:'].includes(url.protocol) ? url.href : undefined
}
