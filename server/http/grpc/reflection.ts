// Server reflection, with which grpcurl, buf curl and similar tools list the services.
import type { DescFile, DescService } from '@bufbuild/protobuf'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import type { handleBidiStreamingCall, Server, ServerDuplexStream } from '@grpc/grpc-js'
import { ReflectionService } from '@grpc/reflection'
import { file_google_rpc_error_details } from '@stemma/api/gen/google/rpc/error_details_pb.ts'
import { service as health } from 'grpc-health-check'
import { toCamel } from '../../aip/field-path.ts'

export function addReflection(server: Server, services: readonly DescService[]): void {
  const files = new Map<string, Buffer>()
  const add = (file: DescFile) => {
    if (files.has(file.name)) return
    files.set(file.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)))
    file.dependencies.forEach(add)
  }
  for (const service of services) add(service.file)
  // No method refers to the error details, but clients look them up to show them.
  add(file_google_rpc_error_details)
  // The descriptors of the health service come from its package, which loads them from its own proto file.
  const healthFiles = (
    (health.Check?.requestType as { fileDescriptorProtos?: Buffer[] }).fileDescriptorProtos ?? []
  ).map(withMapEntryNames)
  const allFiles = { fileDescriptorProtos: [...files.values(), ...healthFiles] }
  const names = [...services.map(({ typeName }) => typeName), 'grpc.health.v1.Health']
  type Package = ConstructorParameters<typeof ReflectionService>[0]
  // ReflectionService expects a definition of a package, but reads only its files: one entry with all files is enough.
  new ReflectionService({ allFiles } as unknown as Package, { services: names }).addToServer({
    addService: (definition, { ServerReflectionInfo }) =>
      server.addService(definition, { ServerReflectionInfo: oneByOne(ServerReflectionInfo as Handler) }),
  })
}

/**
 * Names the messages of map entries as protoc does: `StatusesEntry` for the field `statuses`. The package of the health
 * service uses protobufjs, which chooses other names, and clients refuse those.
 */
function withMapEntryNames(bytes: Buffer): Buffer {
  const file = fromBinary(FileDescriptorProtoSchema, bytes)
  for (const message of file.messageType) {
    for (const entry of message.nestedType.filter(({ options }) => options?.mapEntry)) {
      const suffix = `.${entry.name}`
      const field = message.field.find(({ typeName }) => `.${typeName}`.endsWith(suffix))
      if (!field) continue
      entry.name = `${toCamel(`_${field.name}`)}Entry`
      field.typeName = `.${file.package}.${message.name}.${entry.name}`
    }
  }
  return Buffer.from(toBinary(FileDescriptorProtoSchema, file))
}

type Handler = handleBidiStreamingCall<unknown, unknown>

/**
 * Reads the next request when the client has read the reply to the one before. Otherwise the service would write all
 * replies at once, and a client that reads nothing would fill the memory.
 */
function oneByOne(handler: Handler): Handler {
  return (call: ServerDuplexStream<unknown, unknown>) => {
    const write: (reply: unknown, onWritten: () => void) => boolean = call.write.bind(call)
    call.write = (reply: unknown) => {
      call.pause()
      return write(reply, () => call.resume())
    }
    handler(call)
  }
}
