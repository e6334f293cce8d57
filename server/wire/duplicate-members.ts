/**
 * Whether any object in this JSON has two members of the same name. Some parsers silently keep the first of these and
 * others the last, so two programs could read different values from the same text. The JSON must be well-formed.
 */
export function hasDuplicateMembers(json: string): boolean {
  /** The names so far in each object around the current token, outermost first; undefined for an array. */
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
