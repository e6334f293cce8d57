// The commands of the contract: a resource for each service of v2beta1, a verb for each of its methods.
import type { DescField, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf'
import { services } from '@stemma/api/gen/services-v2beta1.ts'
import type { Method } from '@stemma/api/method.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { kebab, singular } from './spelling.ts'

export type Command = {
  resource: string
  verb: string
  method: Method
  /** Decides which flags the command has and how its response is printed. */
  kind: 'list' | 'stream' | 'delete' | 'update' | 'call'
  /** The path of fields from the request to the uid or id that users give as an argument. Empty if there is none. */
  target: DescField[]
}

export type Resource = {
  name: string
  service: DescService
  commands: Command[]
  /** The message of the resource; undefined for a service that has none, such as ping. */
  message: DescMessage | undefined
}

/** These verbs come first in help, in this order. */
const standardVerbs = ['list', 'get', 'create', 'update', 'delete']

/** Resources whose command has a shorter name. */
const shortNames: Record<string, string> = { 'audit-entries': 'audit' }

export const resources: Resource[] = services.map(resourceOf).sort((a, b) => (a.name < b.name ? -1 : 1))

export const findResource = (name: string) => resources.find((resource) => resource.name === name)

export const findCommand = (resource: string, verb: string) =>
  findResource(resource)?.commands.find((command) => command.verb === verb)

/** Returns a command that must exist in the contract. */
export function commandOf(resource: string, verb: string): Command {
  const command = findCommand(resource, verb)
  if (!command) throw new Error(`the contract has no ${resource} ${verb}`)
  return command
}

function resourceOf(service: DescService): Resource {
  const fullName = kebab(service.name.replace(/Service$/, ''))
  const name = shortNames[fullName] ?? fullName
  const list = service.methods.find(isList)
  let commands: Command[] | undefined
  return {
    name,
    service,
    // Described when they are needed: describing the methods of all services takes a seventh of the time of a command.
    get commands() {
      commands ??= service.methods
        .map((desc) => commandFor(desc, name, fullName))
        .sort((a, b) => rank(a) - rank(b))
      return commands
    },
    message: list && printedMessageIn(list.output),
  }
}

function commandFor(desc: DescMethod, resource: string, fullName: string): Command {
  const method = describeMethod(desc)
  return {
    resource,
    verb: verbOf(desc.name, fullName),
    method,
    kind: kindOf(method),
    target: targetOf(method),
  }
}

function rank({ verb }: Command): number {
  const index = standardVerbs.indexOf(verb)
  return index < 0 ? standardVerbs.length : index
}

/**
 * The name of the method without the resource, and without `get` if another word follows: `list` for `ListGroups`,
 * `get` for `GetGroup`, `readme` for `GetRepoReadme`.
 */
function verbOf(method: string, resource: string): string {
  const name = kebab(method)
  const verb = [resource, singular(resource)].reduce(
    (remaining, word) => `-${remaining}-`.replace(`-${word}-`, '-').replace(/^-|-$/g, ''),
    name,
  )
  return (verb || name).replace(/^get-/, '').replace('open-vex', 'openvex')
}

function kindOf({ desc, isStream, bindings }: Method): Command['kind'] {
  if (isStream) return 'stream'
  if (isList(desc)) return 'list'
  if (bindings[0]?.verb === 'DELETE') return 'delete'
  return hasField(desc.input, 'update_mask') ? 'update' : 'call'
}

function isList({ methodKind, output }: DescMethod): boolean {
  return methodKind === 'unary' && hasField(output, 'next_page_token')
}

function hasField(message: DescMessage, name: string): boolean {
  return message.fields.some((field) => field.name === name)
}

/** The path variable of the first http rule. Empty if it is the parent, which `--parent` sets. */
function targetOf({ desc, bindings }: Method): DescField[] {
  const variable = /\{([^=}]+)/.exec(bindings[0]?.path ?? '')?.[1]
  return variable === undefined || variable === 'parent' ? [] : fieldsAt(desc.input, variable)
}

/** The fields along a dotted path of proto names. */
export function fieldsAt(message: DescMessage, path: string): DescField[] {
  const [first, ...rest] = path.split('.')
  const field = message.fields.find(({ name }) => name === first)
  if (!field) throw new Error(`${message.typeName} has no ${path}`)
  return rest.length > 0 && field.fieldKind === 'message'
    ? [field, ...fieldsAt(field.message, rest.join('.'))]
    : [field]
}

/** The field of a response that contains the rows, if the response is not a single resource. */
function findRowsField({ fields }: DescMessage) {
  if (fields.some(({ name }) => name === 'uid')) return undefined
  return fields.find((field) => field.fieldKind === 'list' && field.listKind === 'message')
}

function printedMessageIn(output: DescMessage): DescMessage {
  return findRowsField(output)?.message ?? output
}

/** The message that is printed: the response, or one of its rows if it has rows. */
export const printedMessageOf = ({ method }: Command): DescMessage => printedMessageIn(method.desc.output)

/** JSON name of the field that contains the rows. Empty if the response is a single resource. */
export const rowsField = ({ method }: Command): string => findRowsField(method.desc.output)?.jsonName ?? ''
