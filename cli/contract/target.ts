// The argument of a command: the name or uid of a resource, or an id, such as that of a session.
import { isNamed, namedResourceFor } from '../names/naming.ts'
import type { Command } from './commands.ts'
import { singular } from './spelling.ts'
import { isUid } from './uid-fields.ts'

/** Request fields that name a resource of another kind than the command, with that kind. */
const resourcesByField: Record<string, string> = {
  group_uid: 'groups',
  group: 'groups',
  repo_uid: 'repos',
  resource: 'groups',
}

/**
 * The resource that the argument names, by name or uid: usually that of the command. Undefined if
 * the argument is an id.
 */
export function targetResource({ resource, target }: Command): string | undefined {
  const field = target.at(-1)
  return field && isUid(field) ? (resourcesByField[field.name] ?? resource) : undefined
}

/** Whether the argument is an id. An id in base64url can start with a hyphen, like a flag. */
export const argumentIsId = (command: Command): boolean =>
  command.target.length > 0 && targetResource(command) === undefined

/**
 * The plural of what the command acts on: the resource or, if the argument does not name one, the
 * noun in the verb, such as `sessions` for `end-session`.
 */
export const targetKind = (command: Command): string =>
  targetResource(command) ?? `${command.verb.replace(/^[a-z]+-/, '')}s`

/** The argument in help: `GROUP`, or `SESSION_ID`. */
export function argumentName(command: Command): string {
  const name = singular(targetKind(command)).toUpperCase()
  return targetResource(command) === undefined ? `${name}_ID` : name
}

/** The form of the argument for messages. */
export function argumentForm(command: Command): string {
  const resource = targetResource(command)
  if (resource === undefined) return 'id'
  return isNamed(namedResourceFor(resource)) ? 'name or uid' : 'uid'
}
