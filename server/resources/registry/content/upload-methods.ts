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
import type { RandomBytes } from '../../../crypto/random.ts'
import { admitToRead, admitToWrite } from '../../../policy/admit.ts'
import type { Call } from '../../../rpc/call.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import type { Reply } from '../../../wire/reply.ts'
import { emptyReply, messageReply } from '../../../wire/reply.ts'
import type { Dependencies } from '../../dependencies.ts'
import { countContent } from '../content-usage.ts'
import { requireRoomOrRelease } from '../release-reserved.ts'
import { addBlob, dropProtected, linkBlob, protectBlob } from './blob-rows.ts'
import { recordBlobPush } from './record-push.ts'
import { lockRepo } from './require-repo.ts'
import type { Expected } from './reserve-upload.ts'
import { reserveUpload } from './reserve-upload.ts'
import type { StoredUpload } from './upload-rows.ts'
import {
  extendLease,
  leaseMs,
  leaseUpload,
  readUpload,
  removeUpload,
  requireFewUploads,
  saveUpload,
} from './upload-rows.ts'

export function uploadMethods(deps: Dependencies) {
  const { store, now } = deps
  return {
    beginUpload: (call: Call<BeginUploadRequest>) =>
      store.write(() => beginUpload(deps, call), call.deadline),

    getUpload: (call: Call<GetUploadRequest>) =>
      store.read(function* () {
        yield* admitToRead(call.demand)
        return uploadReply(yield* readUpload(call.request.repo, call.request.id))
      }),

    openUpload: (call: Call<OpenUploadRequest>) => store.write(() => openUpload(deps, call), call.deadline),

    saveUpload: (call: Call<SaveUploadRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { repo, keep, mayBePublished } = call.request
        const upload = uploadOf(call.request)
        const use = { repo, id: upload.id, now: now() }
        if (!keep) {
          yield* saveUpload(access, use, upload, mayBePublished)
          return uploadReply({ ...upload, lease: '' })
        }
        yield* extendLease(access, use, upload)
        const wanted = Number(call.request.wanted)
        if (wanted === 0) return uploadReply(upload)
        const reservation = yield* reserveUpload(access, repo, upload, {
          ...{ wanted, isExact: false, now: use.now },
        })
        return uploadReply({ ...upload, ...reservation })
      }, call.deadline),

    finishUpload: (call: Call<FinishUploadRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { repo, id, digest, size, lease } = call.request
        const time = now()
        const { reserved } = yield* removeUpload(access, { repo, id, now: time }, lease)
        yield* addBlob(access, digest, Number(size))
        yield* linkBlob(access, repo, digest, time, reserved)
        yield* recordBlobPush(access, call.demand, digest)
        return messageReply(BlobSchema, create(BlobSchema, { digest, size }))
      }, call.deadline),

    cancelUpload: (call: Call<CancelUploadRequest>) =>
      store.write(function* () {
        const access = yield* admitToWrite(call.demand)
        const { repo, id, lease, mayBePublished } = call.request
        const { reserved, namedDigest } = yield* removeUpload(access, { repo, id, now: now() }, lease)
        if (namedDigest !== null && !mayBePublished) yield* dropProtected(access, namedDigest)
        yield* countContent(access, repo, -reserved)
        return emptyReply
      }, call.deadline),
  }
}

function* beginUpload({ now, random, settings }: Dependencies, call: Call<BeginUploadRequest>): Work<Reply> {
  const access = yield* admitToWrite(call.demand)
  const { digest, open, length } = call.request
  const { identity } = access.caller
  const repo = yield* lockRepo(call.request.repo)
  yield* requireFewUploads(repo, identity, settings.maxUploads)
  const [id, time] = [random(16).toString('hex'), now()]
  if (!open) yield* requireRoomOrRelease(access, repo, 1, time)
  const [lease, until] = open ? [newLease(random), time + leaseMs] : [null, null]
  yield sql`insert into uploads (id, repo, identity, size, state, create_time, update_time, lease, lease_until)
    values (${id}, ${repo}, ${identity}, 0, '', ${time}, ${time}, ${lease}, ${until})`
  if (digest !== '') yield* protectBlob(access, id, digest, time)
  const upload = { id, size: 0, state: '', lease: lease ?? '', reserved: 0, identity }
  const expected = expectedOf(upload, length, time)
  const reservation = open ? yield* reserveUpload(access, repo, upload, expected) : {}
  return uploadReply({ ...upload, ...reservation })
}

function* openUpload({ now, random }: Dependencies, call: Call<OpenUploadRequest>): Work<Reply> {
  const access = yield* admitToWrite(call.demand)
  const { repo, id, digest, length } = call.request
  const time = now()
  const { namedDigest, ...upload } = yield* leaseUpload(access, { repo, id, now: time }, newLease(random))
  if (digest !== '') {
    yield* protectBlob(access, id, digest, time)
    if (namedDigest !== null && namedDigest !== digest) yield* dropProtected(access, namedDigest)
  }
  const reservation = yield* reserveUpload(access, repo, upload, expectedOf(upload, length, time))
  return uploadReply({ ...upload, ...reservation, identity: access.caller.identity })
}

const newLease = (random: RandomBytes) => random(16).toString('hex')

/** The expected size of the upload. A body of unknown length is expected to have at least one byte. */
const expectedOf = (
  { size }: Pick<StoredUpload, 'size'>,
  length: bigint | undefined,
  now: number,
): Expected =>
  length === undefined
    ? { wanted: size + 1, isExact: false, now }
    : { wanted: size + Number(length), isExact: true, now }

const uploadOf = ({ upload }: SaveUploadRequest): StoredUpload => ({
  ...{ id: upload?.id ?? '', size: Number(upload?.size ?? 0), state: upload?.state ?? '' },
  ...{ lease: upload?.lease ?? '', reserved: Number(upload?.reserved ?? 0) },
})

const uploadReply = ({ size, reserved, maxSize = 0, ...upload }: StoredUpload & { maxSize?: number }) =>
  messageReply(
    UploadSchema,
    create(UploadSchema, {
      ...{ ...upload, size: BigInt(size), reserved: BigInt(reserved), maxSize: BigInt(maxSize) },
    }),
  )
