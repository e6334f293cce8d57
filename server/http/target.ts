/** The path and query of the target in a request line. A proxy may send the target as an absolute URL. */
export function splitTarget(url: string): { path: string; query: string } {
  const relative = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  const at = relative.indexOf('?')
  const [path, query] = at < 0 ? [relative, ''] : [relative.slice(0, at), relative.slice(at + 1)]
  return { path: path || '/', query }
}
