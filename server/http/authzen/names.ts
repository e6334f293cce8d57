// The names in AuthZEN requests and their meanings in the API: the subject is an identity, the action is a capability or
// a method, and the resource can be of any kind.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { getOption, hasOption } from '@bufbuild/protobuf'
import { CapabilitySchema, info } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { resource as resourceOption } from '@stemma/api/gen/platform/common/resource_pb.ts'
import type { CheckAccessRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import type { Method } from '@stemma/api/method.ts'
import { isUid } from '../../aip/uid.ts'
import type { Entity, Question } from './entities.ts'

export const subjectType = 'identity'

export type Names = {
  /** In a fixed order. */
  capabilities: ReadonlySet<string>
  methods: ReadonlySet<string>
  /** The types of resources, with the full names of their messages. */
  types: ReadonlyMap<string, string>
}

export function namesOf(methods: readonly Method[]): Names {
  const messages = methods
    .map(({ desc }) => desc.output)
    .filter((message) => hasOption(message, resourceOption))
  return {
    capabilities: new Set(
      CapabilitySchema.values
        .filter(({ number }) => number !== 0)
        .map((value) => getOption(value, info).name),
    ),
    methods: new Set(methods.map(({ name }) => name)),
    types: new Map(messages.map(({ name, typeName }) => [typeOf(name), typeName])),
  }
}

/** `RoleBinding` as `role_binding`. */
const typeOf = (message: string) => message.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()

export type CheckInit = MessageInitShape<typeof CheckAccessRequestSchema>

/** The question in the form of the API, or the reason why its answer is no. */
export function checkOf(names: Names, { subject, action, resource }: Question): CheckInit | string {
  const asked = actionOf(names, action)
  if (!asked) return unknownAction
  return (
    subjectFault(subject) ??
    resourceFault(names, resource) ?? { identity: subject.id, resource: resource.id, ...asked }
  )
}

export const actionOf = ({ capabilities, methods }: Names, name: string) =>
  capabilities.has(name) ? { capability: name } : methods.has(name) ? { method: name } : undefined

export const unknownAction =
  'action.name is neither a capability, such as groups.list, nor the full name of a method of the API'

export function subjectFault({ type, id }: Entity): string | undefined {
  if (type !== subjectType) return `subject.type is not ${subjectType}`
  return isUid(id) ? undefined : 'subject.id is not a uid'
}

export function resourceFault({ types }: Names, { type, id }: Entity): string | undefined {
  if (!types.has(type)) return `resource.type is none of ${[...types.keys()].sort().join(', ')}`
  return isUid(id) ? undefined : 'resource.id is not a uid'
}
