// The question of `stemma access`: an identity, a capability or method, and a resource.
import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { CapabilitySchema } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { services } from '@stemma/api/gen/services-v2beta1.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { nearestNames } from '@stemma/api/nearest-names.ts'
import type { Argument, ComposedFlag, ComposedInvocation } from '../composed/composed-command.ts'
import { resources } from '../contract/commands.ts'
import { enumNames, parseEnumValue, shortName } from '../contract/enum-names.ts'
import { exitCodes } from '../exit-codes.ts'
import { Failure, UsageError } from '../failure.ts'
import { isNamed, looksLikeUid } from '../names/naming.ts'
import { resolveUid } from '../names/resolve.ts'

export const capabilityArgument: Argument = {
  name: 'CAPABILITY|METHOD',
  completion: { words: () => enumNames(CapabilitySchema) },
}

export const resourceArgument: Argument = { name: 'RESOURCE', completion: { names: 'groups' } }

export const identityFlag: ComposedFlag = {
  name: 'identity',
  placeholder: 'IDENTITY',
  description: 'Name or uid of the identity. Default: you.',
  completion: { names: 'identities' },
}

export const kindFlag: ComposedFlag = {
  name: 'kind',
  placeholder: 'KIND',
  description:
    'Kind of the resource, such as repos, if resources of several kinds have this name. Default: tags if the name contains a colon, otherwise groups, then repos, then identities.',
  completion: { words: () => namedResources() },
}

export const questionNotes =
  'CAPABILITY is a capability such as groups.list. METHOD is a method such as GroupsService.GetGroup, and stands for all capabilities that it needs. RESOURCE is the name or uid of a group or of another resource.'

const namedResources = () =>
  resources.flatMap(({ name, message }) => (message && isNamed(name) ? [name] : []))

/** The request of `CheckAccess` and `ExplainAccess`. */
export async function readQuestion({ args, flags, connection }: ComposedInvocation): Promise<JsonObject> {
  const [action = '', resource = ''] = args
  const identity = flags.identity as string | undefined
  return {
    ...parseAction(action),
    resource: await resolveResource(connection, resource, flags.kind as string | undefined),
    ...(identity !== undefined && { identity: await resolveUid(connection, 'identities', identity) }),
  }
}

/** Methods end with a capitalized word, such as `GroupsService.GetGroup`. */
export function parseAction(text: string): { capability: string } | { method: string } {
  if (!/\.[A-Z][a-z]\w*$/.test(text))
    return { capability: shortName(CapabilitySchema, parseEnumValue(CapabilitySchema, text)) }
  const methods = services.flatMap(({ typeName, methods }) =>
    methods.map(({ name }) => `${typeName}.${name}`),
  )
  const method = methods.find((name) => name === text || name.endsWith(`.${text}`))
  if (method !== undefined) return { method }
  // A full name may be that of a method of v1, or of a newer server.
  if (text.startsWith('platform.')) return { method: text }
  const short = methods.map((name) => name.split('.').slice(-2).join('.'))
  const [nearest] = nearestNames(text, short)
  throw new UsageError(
    `there is no method ${JSON.stringify(text)}${nearest === undefined ? '' : `; did you mean ${nearest}?`}`,
  )
}

/** The capability that an action needs. Throws if it is a method that needs none or several. */
export function requiredCapability(text: string): string {
  const action = parseAction(text)
  if ('capability' in action) return action.capability
  const desc = services
    .flatMap(({ methods }) => methods)
    .find(({ parent, name }) => `${parent.typeName}.${name}` === action.method)
  // A method of v1, or of a newer server (`parseAction`).
  if (!desc) throw new UsageError(`it is not known what ${text} needs; name one capability instead`)
  const needed = describeMethod(desc).access?.capabilities ?? []
  const names = needed.map((value) => shortName(CapabilitySchema, CapabilitySchema.value[value]?.name ?? ''))
  const [first] = names
  if (first !== undefined && names.length === 1) return first
  const reason = names.length === 0 ? 'no capability' : `several capabilities: ${names.join(', ')}`
  throw new UsageError(`${text} needs ${reason}; name one capability instead`)
}

/** Most questions are about groups, so a name is that of a group if there is one. */
const triedKinds = ['groups', 'repos', 'identities']

export async function resolveResource(connection: Connection, text: string, kind?: string): Promise<string> {
  if (looksLikeUid(text)) return text
  if (kind !== undefined) {
    if (namedResources().includes(kind)) return resolveUid(connection, kind, text)
    throw new UsageError(`--kind must be one of ${namedResources().join(', ')}, not ${JSON.stringify(kind)}`)
  }
  if (text.includes(':')) return resolveUid(connection, 'tags', text)
  for (const each of triedKinds) {
    const uid = await resolveUid(connection, each, text).catch(undefinedIfNotFound)
    if (uid !== undefined) return uid
  }
  throw new Failure(
    `no group, repo or identity is named ${JSON.stringify(text)}, or you may not see it`,
    exitCodes.notFound,
  )
}

function undefinedIfNotFound(error: unknown): undefined {
  if (error instanceof Failure && error.exitCode === exitCodes.notFound) return undefined
  throw error
}
