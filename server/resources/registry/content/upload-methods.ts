// Uploads of blobs. The registry writes the bytes between these calls.

import { create } from '@bufbuild/protobuf'
import type {
  BeginUploadRequest,
  CancelUploadRequest,
  FinishUploadRequest,
  GetUploadRequest,
  OpenUploadRequest,
  SaveUploadRequest,
} from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { BlobSchema, UploadSchema } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import { messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { emptyReply } from '../../reply.ts'
import { addBlob, linkBlob, protectBlob } from './blob-rows.ts'
import { lockRepo } from './require-repo.ts'
import type { StoredUpload } from './upload-rows.ts'
import {
  leaseMs,
  leaseUpload,
  readUpload,
  removeUpload,
  requireFewUploads,
  saveUpload,
} from './upload-rows.ts'

export function uploadMethods({ store, now, random, settings }: Dependencies) {
  const newLease = () => random(16).toString('hex')
  return {
    beginUpload: (call: Call<BeginUploadRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { digest } = call.request
        const { identity } = access.caller
        const repo = yield* lockRepo(call.request.repo)
        yield* requireFewUploads(repo, identity, settings.maxUploads)
        const [id, time] = [random(16).toString('hex'), now()]
        const [lease, until] = call.request.open ? [newLease(), time + leaseMs] : [null, null]
        yield sql`insert into uploads (id, repo, identity, size, state, create_time, update_time, lease, lease_until)
        values (${id}, ${repo}, ${identity}, 0, '', ${time}, ${time}, ${lease}, ${until})`
        if (digest !== '') yield* protectBlob(access, id, digest, time)
        return uploadReply({ id, size: 0, state: '', lease: lease ?? '', identity })
      }, call.deadline),

    getUpload: (call: Call<GetUploadRequest>) =>
      store.read(function* () {
        yield* admitToRead(call.demand)
        return uploadReply(yield* readUpload(call.request.repo, call.request.id))
      }),

    openUpload: (call: Call<OpenUploadRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { repo, id, digest } = call.request
        const time = now()
        const upload = yield* leaseUpload(access, { repo, id, now: time }, newLease())
        if (digest !== '') yield* protectBlob(access, id, digest, time)
        return uploadReply({ ...upload, identity: access.caller.identity })
      }, call.deadline),

    saveUpload: (call: Call<SaveUploadRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { repo, upload, keep } = call.request
        const { id = '', state = '', lease = '' } = upload ?? {}
        const size = Number(upload?.size ?? 0)
        yield* saveUpload(access, { repo, id, now: now() }, { size, state, lease }, keep)
        return uploadReply({ id, size, state, lease: keep ? lease : '' })
      }, call.deadline),

    finishUpload: (call: Call<FinishUploadRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { repo, id, digest, size, lease } = call.request
        const time = now()
        yield* removeUpload(access, { repo, id, now: time }, lease)
        yield* addBlob(access, digest, Number(size))
        yield* linkBlob(access, repo, digest, time)
        return messageReply(BlobSchema, create(BlobSchema, { digest, size }))
      }, call.deadline),

    cancelUpload: (call: Call<CancelUploadRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { repo, id, lease } = call.request
        yield* removeUpload(access, { repo, id, now: now() }, lease)
        return emptyReply
      }, call.deadline),
  }
}

const uploadReply = ({ size, ...upload }: StoredUpload) =>
  messageReply(UploadSchema, create(UploadSchema, { ...upload, size: BigInt(size) }))
