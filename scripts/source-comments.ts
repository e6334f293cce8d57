// Reads the comments of the protos, which generated descriptors leave out.
import type { DescriptorProto, EnumDescriptorProto, FileDescriptorProto } from '@bufbuild/protobuf/wkt'

/** Full names by path in SourceCodeInfo. In a path, field numbers of descriptor.proto alternate with indexes. */
type NamesByPath = Map<string, string>

/** Comments by the full name of the message, field, oneof, service, method, enum or enum value. */
export function commentsOf(file: FileDescriptorProto): [name: string, comment: string][] {
  const names: NamesByPath = new Map()
  const fullNameOf = (name: string) => [file.package, name].filter(Boolean).join('.')
  file.messageType.forEach((message, at) => {
    addMessage(names, message, fullNameOf(message.name), [4, at])
  })
  file.enumType.forEach((enumProto, at) => {
    addEnum(names, enumProto, fullNameOf(enumProto.name), [5, at])
  })
  file.service.forEach((service, at) => {
    const name = fullNameOf(service.name)
    names.set(`6,${at}`, name)
    service.method.forEach((method, index) => {
      names.set(`6,${at},2,${index}`, `${name}.${method.name}`)
    })
  })
  return (file.sourceCodeInfo?.location ?? []).flatMap(({ path, leadingComments }) => {
    const name = names.get(path.join(','))
    return name && leadingComments ? [[name, joinLines(leadingComments)]] : []
  })
}

function addMessage(names: NamesByPath, message: DescriptorProto, name: string, path: number[]): void {
  names.set(path.join(','), name)
  message.field.forEach((field, at) => {
    names.set([...path, 2, at].join(','), `${name}.${field.name}`)
  })
  message.oneofDecl.forEach((oneof, at) => {
    names.set([...path, 8, at].join(','), `${name}.${oneof.name}`)
  })
  message.nestedType.forEach((nested, at) => {
    addMessage(names, nested, `${name}.${nested.name}`, [...path, 3, at])
  })
  message.enumType.forEach((enumProto, at) => {
    addEnum(names, enumProto, `${name}.${enumProto.name}`, [...path, 4, at])
  })
}

function addEnum(names: NamesByPath, enumProto: EnumDescriptorProto, name: string, path: number[]): void {
  names.set(path.join(','), name)
  enumProto.value.forEach((value, at) => {
    names.set([...path, 2, at].join(','), `${name}.${value.name}`)
  })
}

/** Joins the lines of each paragraph; an empty line separates paragraphs. */
function joinLines(comment: string): string {
  const paragraphs = comment.trim().split(/\n\s*\n/)
  return paragraphs.map((paragraph) => paragraph.trim().replaceAll(/\s*\n\s*/g, ' ')).join('\n\n')
}
