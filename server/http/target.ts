/** The path and query that a request line asks for. A proxy may send the absolute form. */
export function splitTarget(url: string): { path: string; query: string } {
  const relative = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '') || '/'
  const at = relative.indexOf('?')
  return at < 0
    ? { path: relative, query: '' }
    : { path: relative.slice(0, at), query: relative.slice(at + 1) }
}
