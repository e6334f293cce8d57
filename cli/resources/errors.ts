// Converts errors and warnings of the server to messages that name flags instead of fields.
import type { Warning } from '@stemma/api'
import { Code, StemmaError } from '@stemma/api'
import type { Command } from '../contract/commands.ts'
import { flagsOf } from '../contract/request-flags.ts'
import { snake } from '../contract/spelling.ts'
import { exitCodeOf } from '../exit-codes.ts'
import { Failure, NotSignedIn } from '../failure.ts'
import { singleLine } from '../single-line.ts'

/**
 * `command` is the command whose flags are named; undefined for a composed command, whose errors
 * name fields. `hints` are further lines below the message.
 */
export function toFailure(
  error: unknown,
  command: Command | undefined,
  isDebug: boolean,
  hints: string[] = [],
): unknown {
  if (!(error instanceof StemmaError)) return error
  const body = isDebug ? bodyLines(error) : []
  if (error.code === Code.UNAUTHENTICATED) return new NotSignedIn(error.message, body)
  const violations = error.fieldViolations.map(
    ({ field, description }) => `${command ? flagFor(command, field) : field}: ${description}`,
  )
  const [first = error.message, ...others] = violations
  return new Failure(first, exitCodeOf(error.code), [...others.map((line) => `  ${line}`), ...hints, ...body])
}

export const warningLine = ({ field, description }: Warning, command: Command): string =>
  singleLine(`stemma: warning: ${field === '' ? '' : `${flagFor(command, field)}: `}${description}`)

function bodyLines({ code, message, details, status, requestId }: StemmaError): string[] {
  return JSON.stringify({ status, requestId, code, message, details }, undefined, 2).split('\n')
}

/**
 * Finds the flag of a field. The server writes the field in JSON or proto spelling, and with or without the field of
 * the resource as a prefix: `group.name` or `name`. For an element of a list, its index and field follow the flag:
 * `--questions[0].capability`.
 */
function flagFor(command: Command, field: string): string {
  const name = snake(field)
  const matchesField = (path: string) =>
    name === path || name.startsWith(`${path}[`) || path.endsWith(`.${name}`)
  if (matchesField(command.target.map((part) => part.name).join('.'))) return name
  const flag = flagsOf(command).find(({ path }) => {
    const names = path.map((part) => part.name)
    return matchesField(names.join('.')) || matchesField(names.slice(1).join('.'))
  })
  const element = field.includes('[') ? field.slice(field.indexOf('[')) : ''
  return flag ? `--${flag.name}${element}` : field
}
