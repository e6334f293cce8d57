// Calls about images. getArchs and getSize convert v2 calls; the other calls exist only in v1.
import { create } from '@bufbuild/protobuf'
import type {
  ArchRequest,
  GetChartRequest,
  ImageConfigRequest,
  ManifestDigestCountFilter,
  SizeRequest,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import {
  ArchsSchema,
  ChartSchema,
  ImageConfigSchema,
  ManifestDigestCountSchema,
  SizeSchema,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ImagesService } from '@stemma/api/gen/platform/registry/v2beta1/image_pb.ts'
import type { Call } from '../../../rpc/call.ts'
import { messageReply } from '../../../wire/reply.ts'
import { convertReply } from '../convert-reply.ts'
import type { V1Dependencies } from '../dependencies.ts'
import type { FieldRename } from '../error-fields.ts'
import { renameErrorFields } from '../error-fields.ts'

const v2 = ImagesService.method
const renames: FieldRename[] = [
  [/^repo_uid$/, 'repo_id'],
  [/^architecture$/, 'arch'],
]

export const imageMethods = ({ callV2, images }: V1Dependencies) => ({
  getArchs(call: Call<ArchRequest>) {
    const { repoId: repoUid, digest } = call.request
    const reply = renameErrorFields(renames, callV2(call, v2.getArchitectures, { repoUid, digest }))
    return convertReply(reply, ArchsSchema, ({ architectures }) =>
      create(ArchsSchema, { archs: architectures }),
    )
  },

  getSize(call: Call<SizeRequest>) {
    const { repoId: repoUid, digest, arch: architecture } = call.request
    const reply = renameErrorFields(renames, callV2(call, v2.getSize, { repoUid, digest, architecture }))
    return convertReply(reply, SizeSchema, ({ size, architecture: arch }) =>
      create(SizeSchema, { size, arch }),
    )
  },

  async getImageConfig({ demand, request }: Call<ImageConfigRequest>) {
    const { digest, arch: architecture } = request
    return messageReply(ImageConfigSchema, await images.readConfig(demand, { digest, architecture }))
  },

  async getChart({ demand, request }: Call<GetChartRequest>) {
    const chart = await images.readChart(demand, request.digest)
    return messageReply(ChartSchema, create(ChartSchema, chart))
  },

  async getManifestDigestCount({ demand }: Call<ManifestDigestCountFilter>) {
    const count = BigInt(await images.countManifests(demand))
    return messageReply(ManifestDigestCountSchema, create(ManifestDigestCountSchema, { count }))
  },
})
