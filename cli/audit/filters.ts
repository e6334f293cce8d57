// The filters that the commands of `stemma audit` have in common.
import type { JsonObject } from '@bufbuild/protobuf'
import { resolveResource } from '../access/question.ts'
import type { Argument, ComposedFlag, ComposedInvocation } from '../composed/composed-command.ts'
import { parseTime } from '../contract/time-values.ts'
import { Failure, UsageError } from '../failure.ts'
import { resolveUid } from '../names/resolve.ts'

export const groupArgument: Argument = { name: 'GROUP', isOptional: true, completion: { names: 'groups' } }

const outcomes = ['success', 'failure']

export const filterFlags: ComposedFlag[] = [
  {
    name: 'actor',
    placeholder: 'IDENTITY',
    description: 'Only entries of this identity: its name or uid.',
    completion: { names: 'identities' },
  },
  {
    name: 'resource',
    placeholder: 'RESOURCE',
    description:
      'Only entries about this group or other resource: its name or uid. Name a deleted resource by its uid.',
    completion: { names: 'groups' },
  },
  { name: 'kind', placeholder: 'KIND', description: 'Only entries about this kind, such as role_bindings.' },
  {
    name: 'action',
    placeholder: 'WORD',
    description: 'Only entries with this action, such as created, updated, deleted, refused or signed-in.',
    completion: { words: () => ['created', 'updated', 'deleted', 'refused', 'signed-in'] },
  },
  {
    name: 'method',
    placeholder: 'METHOD',
    description: 'Only entries of this method, such as GroupsService.DeleteGroup.',
  },
  {
    name: 'outcome',
    placeholder: 'WORD',
    description: 'Only entries with this outcome: success or failure.',
    completion: { words: () => outcomes },
  },
]

export const sinceFlag: ComposedFlag = {
  name: 'since',
  placeholder: 'TIME',
  description: 'Only entries at this time or later, such as 24h or 2026-01-31 (UTC).',
}

export const untilFlag: ComposedFlag = {
  name: 'until',
  placeholder: 'TIME',
  description: 'Only entries before this time.',
}

/** The filters of the request. */
export async function readFilters({
  args,
  flags,
  connection,
  runtime,
}: ComposedInvocation): Promise<JsonObject> {
  const { actor, resource, kind, action, method, outcome, since, until } = flags as Record<string, string>
  const group = args[0]
  return withoutUndefined({
    uidp: group === undefined ? undefined : { descendantsOf: await resolveUid(connection, 'groups', group) },
    actor: await readFlag('actor', actor, (text) => resolveUid(connection, 'identities', text)),
    resource: await readFlag('resource', resource, (text) => resolveResource(connection, text)),
    kind,
    action,
    method: await readFlag('method', method, fullMethodName),
    outcome: outcome === undefined ? undefined : parseOutcome(outcome),
    startTime: await readFlag('since', since, async (text) => parseTime(text, runtime.now(), true)),
    endTime: await readFlag('until', until, async (text) => parseTime(text, runtime.now(), true)),
  })
}

const withoutUndefined = (fields: Record<string, JsonObject | string | undefined>): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )

/** Undefined if the flag is not given. Adds the name of the flag to errors. */
async function readFlag(
  flag: string,
  text: string | undefined,
  read: (text: string) => Promise<string>,
): Promise<string | undefined> {
  if (text === undefined) return undefined
  return read(text).catch((error: unknown) => {
    if (error instanceof Failure) error.message = `--${flag}: ${error.message}`
    throw error
  })
}

/**
 * Methods may be given without their package. Other texts are kept as they are: full names of methods, and commands of
 * the operator such as `stemmad users`.
 */
async function fullMethodName(text: string): Promise<string> {
  // Loaded only here, because other commands need no services of v1.
  const { services } = await import('@stemma/api/gen/services.ts')
  const names = services.flatMap(({ typeName, methods }) => methods.map(({ name }) => `${typeName}.${name}`))
  const [match, ...others] = names.filter((name) => name.endsWith(`.${text}`))
  if (match === undefined) return text
  if (others.length === 0) return match
  throw new UsageError(
    `${JSON.stringify(text)} matches several methods; use one of these names instead:`,
    [match, ...others].map((name) => `  ${name}`),
  )
}

function parseOutcome(text: string): string {
  if (outcomes.includes(text)) return `AUDIT_OUTCOME_${text.toUpperCase()}`
  throw new UsageError(`--outcome must be ${outcomes.join(' or ')}, not ${JSON.stringify(text)}`)
}
