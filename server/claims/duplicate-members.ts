/**
 * Whether any object in this JSON has two members of the same name. JSON parsers keep the last one silently, so two
 * readers of one token could see different claims. The JSON must be well-formed.
 */
export function hasDuplicateMembers(json: string): boolean {
  /** The names in each object that is open; undefined for an open array. */
  const openNames: (Set<string> | undefined)[] = []
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}[\]]/g)) {
    if (token === '{') openNames.push(new Set())
    else if (token === '[') openNames.push(undefined)
    else if (token === '}' || token === ']') openNames.pop()
    else if (token.endsWith(':')) {
      const name = JSON.parse(token.slice(0, -1)) as string // a string, since it is followed by a colon
      const names = openNames.at(-1)
      if (names?.has(name)) return true
      names?.add(name)
    }
  }
  return false
}
