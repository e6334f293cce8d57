// Reads the options of a method: its HTTP bindings, the access it needs and the field that names its scope.
import type { DescField, DescMessage, DescMethod, DescService, Message } from '@bufbuild/protobuf'
import { create, getOption, hasOption } from '@bufbuild/protobuf'
import { FieldBehavior, field_behavior } from './gen/google/api/field_behavior_pb.ts'
import type { Access } from './gen/platform/common/access_pb.ts'
import { access, internal, scope } from './gen/platform/common/access_pb.ts'
import type { FieldRules } from './gen/platform/common/rules_pb.ts'
import { FieldRulesSchema, rules } from './gen/platform/common/rules_pb.ts'
import type { HttpBinding } from './http-binding.ts'
import { bindingsOf } from './http-binding.ts'
import { isCreateMethod } from './is-create.ts'
import { isReadMethod } from './is-read.ts'
import { optionOf } from './option.ts'
import { scopeKindOf } from './scope-kind.ts'
import { hasValidateOnly } from './validation.ts'

export type Method = {
  desc: DescMethod
  /** `platform.iam.v2beta1.GroupsService.GetGroup`: the name that page tokens, logs and metrics use. */
  name: string
  /** The path of the call over gRPC. */
  grpcPath: string
  bindings: HttpBinding[]
  access: Access | undefined
  /** The fields that lead from the request to the uid at which access is checked. */
  scope: DescField[]
  /** The kind of the resource with that uid: the full name of its message. */
  scopeKind: string
  /** The request field that contains the resource; usually, it is sent as the body. Undefined if the method has none. */
  resource: DescField | undefined
  /** Whether the response is a stream of messages. */
  isStream: boolean
  /** Whether the method only reads. */
  isRead: boolean
  /** Whether only this server calls the method (`internal` in access.proto). */
  isInternal: boolean
  /** Whether the method creates something, so that it accepts an idempotency key. */
  isCreate: boolean
  /** Whether a request can ask for validation only (AIP-163). */
  canValidate: boolean
}

export function describeMethods(service: DescService): Method[] {
  return service.methods.map(describeMethod)
}

/** A cache, because a server describes all methods when it starts, and a process of tests starts many servers. */
const cachedMethods = new WeakMap<DescMethod, Method>()

export function describeMethod(desc: DescMethod): Method {
  let method = cachedMethods.get(desc)
  if (!method) {
    method = readMethod(desc)
    cachedMethods.set(desc, method)
  }
  return method
}

function readMethod(desc: DescMethod): Method {
  const bindings = bindingsOf(desc)
  const body = bindings[0]?.body
  const scope = scopePath(desc.input)
  return {
    desc,
    name: `${desc.parent.typeName}.${desc.name}`,
    grpcPath: `/${desc.parent.typeName}/${desc.name}`,
    bindings,
    access: optionOf(desc, access),
    scope,
    scopeKind: scopeKindOf(desc, scope),
    resource: resourceField(desc.input, body),
    isStream: desc.methodKind === 'server_streaming',
    isRead: bindings[0] ? isReadMethod(desc) : /^(?:Get|List)[A-Z]/.test(desc.name),
    isInternal: optionOf(desc.parent, internal) ?? false,
    isCreate: isCreateMethod(desc),
    canValidate: hasValidateOnly(desc.input),
  }
}

/** If the body is the whole request (`*`), only an update has a resource: the field beside `update_mask`. */
function resourceField({ fields }: DescMessage, body: string | undefined): DescField | undefined {
  if (body !== '*') return fields.find((field) => field.name === body)
  return fields.some(isUpdateMask) ? fields.find((field) => !isUpdateMask(field)) : undefined
}

const isUpdateMask = ({ name }: DescField) => name === 'update_mask'

function scopePath(message: DescMessage): DescField[] {
  const field = message.fields.find(isScope)
  if (!field) return []
  return field.fieldKind === 'message' ? [field, ...scopePath(field.message)] : [field]
}

/** The path of a method's URL, up to the first variable or a custom verb such as `:test`. */
export const fixedPathOf = ({ bindings }: Pick<Method, 'bindings'>): string =>
  bindings[0]?.path.replace(/\/?[{:].*$/, '') ?? ''

/** The uid at which access is checked; empty if the request names none. */
export function scopeOf(method: Method, request: Message): string {
  if (method.scope.length === 0) return ''
  let value: unknown = request
  for (const { localName } of method.scope)
    value = (value as Record<string, unknown> | undefined)?.[localName]
  // The cast is safe: e2e/contract/contract.test.ts checks that all scope fields are strings.
  return (value as string | undefined) ?? ''
}

type FieldOptions = { rules: FieldRules; behaviours: ReadonlySet<FieldBehavior> }

/** A cache, because reading an option takes 30 µs even if the option is absent. */
const cachedOptions = new WeakMap<DescField, FieldOptions>()
const noOptions: FieldOptions = { rules: create(FieldRulesSchema), behaviours: new Set() }

function optionsOf(field: DescField): FieldOptions {
  if (!field.proto.options) return noOptions
  let options = cachedOptions.get(field)
  if (!options) {
    options = {
      rules: hasOption(field, rules) ? getOption(field, rules) : noOptions.rules,
      behaviours: hasOption(field, field_behavior)
        ? new Set(getOption(field, field_behavior))
        : noOptions.behaviours,
    }
    cachedOptions.set(field, options)
  }
  return options
}

export const rulesOf = (field: DescField) => optionsOf(field).rules
export const isOutputOnly = (field: DescField) => optionsOf(field).behaviours.has(FieldBehavior.OUTPUT_ONLY)
export const isRequired = (field: DescField) => optionsOf(field).behaviours.has(FieldBehavior.REQUIRED)
/** Whether a caller must set a field to create a resource. */
export const isRequiredOnCreate = (field: DescField) =>
  isRequired(field) || optionsOf(field).rules.requiredOnCreate
export const isImmutable = (field: DescField) => optionsOf(field).behaviours.has(FieldBehavior.IMMUTABLE)
export const isInputOnly = (field: DescField) => optionsOf(field).behaviours.has(FieldBehavior.INPUT_ONLY)
export const isScope = (field: DescField) => optionOf(field, scope) ?? false
