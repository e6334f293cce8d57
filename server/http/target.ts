/** The path and query of the target in a request line. A proxy may send the target as an absolute URL. */
export function splitTarget(url: string): { path: string; query: string } {
  const relative = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '') || '/'
  const at = relative.indexOf('?')
  return at < 0
    ? { path: relative, query: '' }
    : { path: relative.slice(0, at), query: relative.slice(at + 1) }
}
