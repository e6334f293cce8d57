// The words of a command that deletes, for messages: `delete 2 groups`, `remove 1 person`, `end 1 session`.
import type { Command } from '../contract/commands.ts'
import { singular, spaced } from '../contract/spelling.ts'
import { targetKind } from '../contract/target.ts'

/** `delete`, or `end` for the verb `end-session`. */
export const actionOf = ({ verb }: Command): string => verb.split('-')[0] ?? verb

/** `deleted`, or `ended`. */
export const pastActionOf = (command: Command): string => actionOf(command).replace(/e?$/, 'ed')

/** `group` or `groups`. */
export function nounOf(command: Command, count: number): string {
  const kind = targetKind(command)
  return spaced(count === 1 ? singular(kind) : kind)
}

/** `2 groups`, or `the authenticator app` if the command has no argument. */
export const countOf = (command: Command, count: number): string =>
  `${command.target.length === 0 ? 'the' : count} ${nounOf(command, count)}`

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
