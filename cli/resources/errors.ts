// What the server says is wrong, in the words of the command line.
import { Code, StemmaError } from '@stemma/api'
import type { Command } from '../contract/commands.ts'
import { flagsOf } from '../contract/flags.ts'
import { snake } from '../contract/spelling.ts'
import { exitCodeOf } from '../exit-codes.ts'
import { NotSignedIn, Refused } from '../usage.ts'

export function inWords(error: unknown, command: Command, isDebugging: boolean): unknown {
  if (!(error instanceof StemmaError)) return error
  const more = isDebugging ? bodyOf(error) : []
  if (error.code === Code.UNAUTHENTICATED) return Object.assign(new NotSignedIn(error.message), { more })
  const violations = error.fieldViolations.map(
    ({ field, description }) => `${flagNamed(command, field)}: ${description}`,
  )
  const [first = error.message, ...others] = violations
  return new Refused(first, exitCodeOf(error.code), [...others.map((line) => `  ${line}`), ...more])
}

function bodyOf({ code, message, details, status, requestId }: StemmaError): string[] {
  return JSON.stringify({ status, requestId, code, message, details }, undefined, 2).split('\n')
}

/** The flag that set a field, in whatever spelling and from wherever the server names it. */
function flagNamed(command: Command, field: string): string {
  const wanted = snake(field)
  const isSame = (path: string) =>
    wanted === path || wanted.startsWith(`${path}[`) || path.endsWith(`.${wanted}`)
  if (isSame(command.target.map(({ name }) => name).join('.'))) return wanted
  const found = flagsOf(command).find(
    ({ path }) =>
      isSame(path.map(({ name }) => name).join('.')) || isSame(within(path.map(({ name }) => name))),
  )
  return found ? `--${found.name}` : field
}

/** The server names fields of a resource without the resource. */
const within = ([, ...rest]: string[]): string => rest.join('.')
