// Protobuf messages that a test declares, for combinations of types and rules that no message of the contract has.
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf'
import { create, createFileRegistry, setExtension } from '@bufbuild/protobuf'
import { protoCamelCase } from '@bufbuild/protobuf/reflect'
import type { DescriptorProto, FieldDescriptorProto } from '@bufbuild/protobuf/wkt'
import {
  DescriptorProtoSchema,
  EnumDescriptorProtoSchema,
  FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_duration,
  file_google_protobuf_field_mask,
  file_google_protobuf_timestamp,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt'
import type { FieldBehavior } from '@stemma/api/gen/google/api/field_behavior_pb.ts'
import { field_behavior } from '@stemma/api/gen/google/api/field_behavior_pb.ts'
import { FieldRulesSchema, rules } from '@stemma/api/gen/platform/common/rules_pb.ts'

type ScalarName = Lowercase<Exclude<keyof typeof Type, 'ENUM' | 'MESSAGE' | 'GROUP'>>

export type FieldSpec = {
  /** A scalar, an enum or message of the same declaration, or a full name such as `google.protobuf.Timestamp`. */
  type: string
  list?: boolean
  /** Makes the field a map with keys of this type. */
  key?: ScalarName
  optional?: boolean
  oneof?: string
  behaviour?: FieldBehavior
  rules?: MessageInitShape<typeof FieldRulesSchema>
}

/** Fields are numbered in their order, from 1. A string is short for `{ type }`. */
export type MessageSpec = Record<string, FieldSpec | string>

const importedFiles = [
  file_google_protobuf_duration,
  file_google_protobuf_field_mask,
  file_google_protobuf_timestamp,
]

/** Returns a function that looks up a declared message by name. */
export function declareMessages(
  messages: Record<string, MessageSpec>,
  enums: Record<string, Record<string, number>> = {},
): (name: string) => DescMessage {
  const file = create(FileDescriptorProtoSchema, {
    name: 'test.proto',
    package: 'test',
    syntax: 'proto3',
    dependency: importedFiles.map((imported) => imported.proto.name),
    messageType: Object.entries(messages).map(([name, spec]) => messageOf(name, spec, enums)),
    enumType: Object.entries(enums).map(([name, values]) =>
      create(EnumDescriptorProtoSchema, {
        name,
        value: Object.entries(values).map(([value, number]) => ({ name: value, number })),
      }),
    ),
  })
  const registry = createFileRegistry(file, (name) =>
    importedFiles.find((imported) => imported.proto.name === name),
  )
  return (name) => {
    const desc = registry.getMessage(`test.${name}`)
    if (!desc) throw new Error(`${name} is not declared`)
    return desc
  }
}

function messageOf(name: string, spec: MessageSpec, enums: object): DescriptorProto {
  const message = create(DescriptorProtoSchema, { name })
  const fields = Object.entries(spec).map(([field, options]) => ({
    name: field,
    ...(typeof options === 'string' ? { type: options } : options),
  }))
  const oneofs = new Set(fields.flatMap(({ oneof }) => oneof ?? []))
  // protobuf requires the synthetic oneofs of `optional` fields after all others.
  const allOneofs = [...oneofs, ...fields.filter(({ optional }) => optional).map((field) => `_${field.name}`)]
  message.oneofDecl = allOneofs.map((oneof) => ({
    $typeName: 'google.protobuf.OneofDescriptorProto',
    name: oneof,
  }))
  fields.forEach((field, at) => {
    const proto = fieldOf(field, at + 1, enums)
    const oneof = field.optional ? `_${field.name}` : field.oneof
    if (oneof !== undefined) proto.oneofIndex = allOneofs.indexOf(oneof)
    if (field.key !== undefined) message.nestedType.push(mapEntry(field.name, field.key, proto, name))
    message.field.push(proto)
  })
  return message
}

function fieldOf(spec: FieldSpec & { name: string }, number: number, enums: object): FieldDescriptorProto {
  const options = create(FieldOptionsSchema)
  if (spec.behaviour !== undefined) setExtension(options, field_behavior, [spec.behaviour])
  if (spec.rules) setExtension(options, rules, create(FieldRulesSchema, spec.rules))
  const type = typeOf(spec.type, enums)
  return create(FieldDescriptorProtoSchema, {
    name: spec.name,
    jsonName: protoCamelCase(spec.name),
    number,
    label: spec.list ? Label.REPEATED : Label.OPTIONAL,
    type,
    typeName: type === Type.ENUM || type === Type.MESSAGE ? fullName(spec.type) : '',
    proto3Optional: spec.optional ?? false,
    options,
  })
}

const fullName = (type: string) => (type.includes('.') ? `.${type}` : `.test.${type}`)

function typeOf(type: string, enums: object): Type {
  const scalar = Type[type.toUpperCase() as keyof typeof Type]
  if (scalar !== undefined) return scalar
  return Object.hasOwn(enums, type) ? Type.ENUM : Type.MESSAGE
}

/** A map field is a list of entry messages, so the declared field becomes the entry's value. */
function mapEntry(
  name: string,
  key: ScalarName,
  field: FieldDescriptorProto,
  parent: string,
): DescriptorProto {
  const entry = `${name
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')}Entry`
  const { type, typeName } = field
  const single = { label: Label.OPTIONAL }
  const nested = create(DescriptorProtoSchema, {
    name: entry,
    options: { mapEntry: true },
    field: [
      { name: 'key', number: 1, type: typeOf(key, {}), ...single },
      { name: 'value', number: 2, type, typeName, ...single },
    ],
  })
  field.label = Label.REPEATED
  field.type = Type.MESSAGE
  field.typeName = `.test.${parent}.${entry}`
  return nested
}
