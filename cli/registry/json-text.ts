// Changes single members in the text of a JSON object, and leaves every other byte as it is: the file belongs to another
// program, and to people who have formatted it.

type Member = { key: string; start: number; valueStart: number; end: number }

const spaces = /[ \t\r\n]*/y
const string = /"(?:[^"\\]|\\.)*"/y
const scalar = /[^,\]}\s]+/y

/** The position after the match at `position`. The text is known to be JSON, so there is a match. */
function skip(pattern: RegExp, text: string, position: number): number {
  pattern.lastIndex = position
  return position + (pattern.exec(text)?.[0].length ?? 0)
}

function endOfValue(text: string, start: number): number {
  const first = text[start]
  if (first === '"') return skip(string, text, start)
  if (first !== '{' && first !== '[') return skip(scalar, text, start)
  let depth = 0
  for (let position = start; ; position++) {
    const character = text[position] ?? ''
    if (character === '"') position = skip(string, text, position) - 1
    else if ('{['.includes(character)) depth += 1
    else if ('}]'.includes(character) && --depth === 0) return position + 1
  }
}

/** The members of the object that starts at `start`. */
function membersOf(text: string, start: number): Member[] {
  const members: Member[] = []
  let position = skip(spaces, text, start + 1)
  while (text[position] !== '}') {
    const keyEnd = skip(string, text, position)
    const valueStart = skip(spaces, text, skip(spaces, text, keyEnd) + 1)
    const end = endOfValue(text, valueStart)
    members.push({ key: JSON.parse(text.slice(position, keyEnd)), start: position, valueStart, end })
    position = skip(spaces, text, end)
    if (text[position] === ',') position = skip(spaces, text, position + 1)
  }
  return members
}

/** Parsers use the last of several members with the same name. */
const findMember = (text: string, start: number, key: string): Member | undefined =>
  membersOf(text, start).findLast((member) => member.key === key)

/** The indentation of the first indented line. If there is none, a tab, as docker writes. */
const indentOf = (text: string): string => /\n([ \t]+)\S/.exec(text)?.[1] ?? '\t'

/** Sets the value at a path of names, and creates the objects on the way. `text` is a JSON object. */
export const setAt = (text: string, path: string[], value: unknown): string =>
  setIn(text, skip(spaces, text, 0), path, value, { unit: indentOf(text), depth: 1 })

type Indent = { unit: string; depth: number }

function setIn(text: string, start: number, path: string[], value: unknown, indent: Indent): string {
  const [key = '', ...rest] = path
  const member = findMember(text, start, key)
  if (member && rest.length > 0 && text[member.valueStart] === '{')
    return setIn(text, member.valueStart, rest, value, { ...indent, depth: indent.depth + 1 })
  const nested = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
  const lines = JSON.stringify(nested, undefined, indent.unit)
  const json = lines.replaceAll('\n', `\n${indent.unit.repeat(indent.depth)}`)
  if (member) return text.slice(0, member.valueStart) + json + text.slice(member.end)
  return insertMember(text, start, `${JSON.stringify(key)}: ${json}`, indent)
}

function insertMember(text: string, start: number, member: string, { unit, depth }: Indent): string {
  const last = membersOf(text, start).at(-1)
  const line = `\n${unit.repeat(depth)}${member}`
  if (last) return `${text.slice(0, last.end)},${line}${text.slice(last.end)}`
  const close = skip(spaces, text, start + 1)
  return `${text.slice(0, start + 1)}${line}\n${unit.repeat(depth - 1)}${text.slice(close)}`
}

/** Removes the member at a path of names. If several members have the last name of the path, all are removed. */
export function removeAt(text: string, path: string[]): string {
  const [key = '', ...rest] = path
  for (let previous = text; ; ) {
    const removed = removeIn(previous, skip(spaces, previous, 0), key, rest)
    if (removed === previous) return removed
    previous = removed
  }
}

function removeIn(text: string, start: number, key: string, rest: string[]): string {
  const member = findMember(text, start, key)
  if (!member) return text
  const [next, ...others] = rest
  if (next !== undefined)
    return text[member.valueStart] === '{' ? removeIn(text, member.valueStart, next, others) : text
  const members = membersOf(text, start)
  const index = members.findLastIndex((each) => each.key === key)
  const following = members[index + 1]
  const previous = members[index - 1]
  if (following) return text.slice(0, member.start) + text.slice(following.start)
  if (previous) return text.slice(0, previous.end) + text.slice(member.end)
  return text.slice(0, start + 1) + text.slice(skip(spaces, text, member.end))
}
