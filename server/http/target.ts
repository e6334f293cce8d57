/** The path and query of a request line, which a proxy may send in absolute form. */
export function splitTarget(url: string): { path: string; query: string } {
  const relative = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '') || '/'
  const at = relative.indexOf('?')
  return at < 0
    ? { path: relative, query: '' }
    : { path: relative.slice(0, at), query: relative.slice(at + 1) }
}
