// Uploads of blobs. The registry writes the bytes between these calls.

import { create } from '@bufbuild/protobuf'
import type {
  BeginUploadRequest,
  CancelUploadRequest,
  FinishUploadRequest,
  GetUploadRequest,
  SaveUploadRequest,
} from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { BlobSchema, UploadSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { emptyReply } from '../../reply.ts'
import { addBlob, linkBlob } from './blob-rows.ts'
import { noUpload } from './content-errors.ts'
import { lockRepo } from './require-repo.ts'

export const uploadMethods = ({ store, now, random }: Dependencies) => ({
  beginUpload: (call: Call<BeginUploadRequest>) =>
    store.write(function* () {
      const { caller } = yield* admitToWrite(call.demand)
      const repo = yield* lockRepo(call.request.repo)
      const [id, time] = [random(16).toString('hex'), now()]
      yield sql`insert into uploads (id, repo, identity, size, state, create_time, update_time)
        values (${id}, ${repo}, ${caller.identity}, 0, '', ${time}, ${time})`
      return uploadReply({ id, size: 0, state: '' })
    }, call.deadline),

  getUpload: (call: Call<GetUploadRequest>) =>
    store.read(function* () {
      yield* admitToRead(call.demand)
      return uploadReply(yield* readUpload(call.request))
    }),

  saveUpload: (call: Call<SaveUploadRequest>) =>
    store.write(function* () {
      yield* admitToWrite(call.demand)
      const { repo, upload } = call.request
      const { id = '', size = 0n, state = '' } = upload ?? {}
      const rows =
        yield sql`update uploads set size = ${Number(size)}, state = ${state}, update_time = ${now()}
        where id = ${id} and repo = ${repo} returning id`
      if (rows.length === 0) throw noUpload()
      return uploadReply({ id, size: Number(size), state })
    }, call.deadline),

  finishUpload: (call: Call<FinishUploadRequest>) =>
    store.write(function* () {
      const access = yield* admitToWrite(call.demand)
      const { repo, id, digest, size } = call.request
      yield* removeUpload(repo, id)
      yield* addBlob(access, digest, Number(size), now())
      yield* linkBlob(access, repo, digest)
      return messageReply(BlobSchema, create(BlobSchema, { digest, size }))
    }, call.deadline),

  cancelUpload: (call: Call<CancelUploadRequest>) =>
    store.write(function* () {
      yield* admitToWrite(call.demand)
      yield* removeUpload(call.request.repo, call.request.id)
      return emptyReply
    }, call.deadline),
})

type StoredUpload = { id: string; size: number; state: string }

const uploadReply = ({ id, size, state }: StoredUpload) =>
  messageReply(UploadSchema, create(UploadSchema, { id, size: BigInt(size), state }))

function* readUpload({ repo, id }: GetUploadRequest): Work<StoredUpload> {
  const row = yield* first(sql`select size, state from uploads where id = ${id} and repo = ${repo}`)
  if (!row) throw noUpload()
  return { id, size: row[0] as number, state: row[1] as string }
}

function* removeUpload(repo: string, id: string): Work<void> {
  const rows = yield sql`delete from uploads where id = ${id} and repo = ${repo} returning id`
  if (rows.length === 0) throw noUpload()
}
