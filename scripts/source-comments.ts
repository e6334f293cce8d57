// What the protos say in comments, which descriptors in generated code leave out, by the full name of what it is about.
import type { DescriptorProto, EnumDescriptorProto, FileDescriptorProto } from '@bufbuild/protobuf/wkt'

/** Names by where they stand: numbers of fields in descriptor.proto and positions, as source info has them. */
type Places = Map<string, string>

export function commentsOf(file: FileDescriptorProto): [name: string, comment: string][] {
  const places: Places = new Map()
  const within = (name: string) => [file.package, name].filter(Boolean).join('.')
  file.messageType.forEach((message, at) => {
    addMessage(places, message, within(message.name), [4, at])
  })
  file.enumType.forEach((one, at) => {
    addEnum(places, one, within(one.name), [5, at])
  })
  file.service.forEach((service, at) => {
    const name = within(service.name)
    places.set(`6,${at}`, name)
    service.method.forEach((method, index) => {
      places.set(`6,${at},2,${index}`, `${name}.${method.name}`)
    })
  })
  return (file.sourceCodeInfo?.location ?? []).flatMap(({ path, leadingComments }) => {
    const name = places.get(path.join(','))
    return name && leadingComments ? [[name, flowing(leadingComments)]] : []
  })
}

function addMessage(places: Places, message: DescriptorProto, name: string, path: number[]): void {
  places.set(path.join(','), name)
  message.field.forEach((field, at) => {
    places.set([...path, 2, at].join(','), `${name}.${field.name}`)
  })
  message.oneofDecl.forEach((oneof, at) => {
    places.set([...path, 8, at].join(','), `${name}.${oneof.name}`)
  })
  message.nestedType.forEach((nested, at) => {
    addMessage(places, nested, `${name}.${nested.name}`, [...path, 3, at])
  })
  message.enumType.forEach((one, at) => {
    addEnum(places, one, `${name}.${one.name}`, [...path, 4, at])
  })
}

function addEnum(places: Places, one: EnumDescriptorProto, name: string, path: number[]): void {
  places.set(path.join(','), name)
  one.value.forEach((value, at) => {
    places.set([...path, 2, at].join(','), `${name}.${value.name}`)
  })
}

/** Lines of a paragraph are one line; an empty line parts paragraphs. */
function flowing(comment: string): string {
  const paragraphs = comment.trim().split(/\n\s*\n/)
  return paragraphs.map((paragraph) => paragraph.trim().replaceAll(/\s*\n\s*/g, ' ')).join('\n\n')
}
