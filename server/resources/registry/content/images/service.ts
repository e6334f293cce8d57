// Architectures and sizes of images.
import { create } from '@bufbuild/protobuf'
import type {
  GetArchitecturesRequest,
  GetSizeRequest,
} from '@stemma/api/gen/platform/registry/v2beta1/image_pb.ts'
import {
  ArchitecturesSchema,
  ImagesService,
  SizeSchema,
} from '@stemma/api/gen/platform/registry/v2beta1/image_pb.ts'
import { admitToRead } from '../../../../policy/admit.ts'
import type { Call } from '../../../../rpc/call.ts'
import { messageReply } from '../../../../wire/reply.ts'
import type { Dependencies } from '../../../dependencies.ts'
import { defineService } from '../../../resource.ts'
import { architectureOf, findImage, readImage } from './find-image.ts'

export const imagesService = defineService({
  service: ImagesService,
  methods: ({ store }: Dependencies) => ({
    getArchitectures: ({ demand, request }: Call<GetArchitecturesRequest>) =>
      store.read(function* () {
        yield* admitToRead(demand)
        const { platforms } = yield* readImage(request.repoUid, request.digest)
        const architectures = [...new Set(platforms.map(architectureOf))]
        return messageReply(ArchitecturesSchema, create(ArchitecturesSchema, { architectures }))
      }),

    getSize: ({ demand, request }: Call<GetSizeRequest>) =>
      store.read(function* () {
        yield* admitToRead(demand)
        const { size, platforms } = yield* findImage(request.repoUid, request.digest, request.architecture)
        const architecture = architectureOf(platforms[0] ?? '') || request.architecture
        return messageReply(SizeSchema, create(SizeSchema, { size: BigInt(size), architecture }))
      }),
  }),
})
