// Lets grpcurl, buf curl and the like find out what is served, from the descriptors that serve it.
import type { DescFile, DescService } from '@bufbuild/protobuf'
import { toBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import type { Server } from '@grpc/grpc-js'
import { ReflectionService } from '@grpc/reflection'
import { file_google_rpc_error_details } from '@stemma/api/gen/google/rpc/error_details_pb.ts'

export function addReflection(server: Server, services: readonly DescService[]): void {
  const files = new Map<string, Buffer>()
  const add = (file: DescFile) => {
    if (files.has(file.name)) return
    files.set(file.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)))
    file.dependencies.forEach(add)
  }
  for (const service of services) add(service.file)
  // No method names what errors carry; clients look it up to show it.
  add(file_google_rpc_error_details)
  const everything = { fileDescriptorProtos: [...files.values()] }
  const names = services.map(({ typeName }) => typeName)
  type Package = ConstructorParameters<typeof ReflectionService>[0]
  // Only the files of a package are read, so one entry that holds them all will do.
  new ReflectionService({ everything } as unknown as Package, { services: names }).addToServer(server)
}
