// Messages declared in a test, for rules that no message of the contract shows yet.
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
  /** A scalar, or the name of an enum or message: of this test, or a full one such as `google.protobuf.Timestamp`. */
  type: string
  list?: boolean
  /** Makes it a map with keys of this type. */
  key?: ScalarName
  optional?: boolean
  oneof?: string
  behaviour?: FieldBehavior
  rules?: MessageInitShape<typeof FieldRulesSchema>
}

/** Fields are numbered as they come; a string is the type of a field with nothing to add. */
export type MessageSpec = Record<string, FieldSpec | string>

const borrowed = [
  file_google_protobuf_duration,
  file_google_protobuf_field_mask,
  file_google_protobuf_timestamp,
]

/** Answers with what finds a message by the name it was declared with. */
export function declare(
  messages: Record<string, MessageSpec>,
  enums: Record<string, Record<string, number>> = {},
): (name: string) => DescMessage {
  const file = create(FileDescriptorProtoSchema, {
    name: 'test.proto',
    package: 'test',
    syntax: 'proto3',
    dependency: borrowed.map((known) => known.proto.name),
    messageType: Object.entries(messages).map(([name, spec]) => messageOf(name, spec, enums)),
    enumType: Object.entries(enums).map(([name, values]) =>
      create(EnumDescriptorProtoSchema, {
        name,
        value: Object.entries(values).map(([value, number]) => ({ name: value, number })),
      }),
    ),
  })
  const registry = createFileRegistry(file, (name) => borrowed.find((known) => known.proto.name === name))
  return (name) => {
    const desc = registry.getMessage(`test.${name}`)
    if (!desc) throw new Error(`${name} is not declared`)
    return desc
  }
}

function messageOf(name: string, spec: MessageSpec, enums: object): DescriptorProto {
  const message = create(DescriptorProtoSchema, { name })
  const fields = Object.entries(spec).map(([field, more]) => ({
    name: field,
    ...(typeof more === 'string' ? { type: more } : more),
  }))
  const oneofs = new Set(fields.flatMap(({ oneof }) => oneof ?? []))
  // The oneof that stands for `optional` comes after all others.
  const all = [...oneofs, ...fields.filter(({ optional }) => optional).map((field) => `_${field.name}`)]
  message.oneofDecl = all.map((oneof) => ({ $typeName: 'google.protobuf.OneofDescriptorProto', name: oneof }))
  fields.forEach((field, at) => {
    const proto = fieldOf(field, at + 1, enums)
    const oneof = field.optional ? `_${field.name}` : field.oneof
    if (oneof !== undefined) proto.oneofIndex = all.indexOf(oneof)
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

/** A map is a list of entries; the field that was declared becomes the value of an entry. */
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
