// Finds members that come twice in a JSON object. Parsers keep the last and say nothing, so two readers of one
// token may each see another claim.

/** Whether any object in this JSON, which is known to be well formed, has two members of the same name. */
export function hasTwins(json: string): boolean {
  const open: (Set<string> | undefined)[] = []
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}[\]]/g)) {
    if (token === '{') open.push(new Set())
    else if (token === '[') open.push(undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (token.endsWith(':')) {
      const name = JSON.parse(token.slice(0, -1)) as string // a string, since it is followed by a colon
      const names = open.at(-1)
      if (names?.has(name)) return true
      names?.add(name)
    }
  }
  return false
}
