// Uploads of blobs: in one request, in one or more chunks, or as a stream.
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { Code } from '../aip/code.ts'
import { registryError } from '../aip/registry-error.ts'
import type { Algorithm, Digest } from '../blobs/digest.ts'
import { algorithmOf, parseDigest } from '../blobs/digest.ts'
import { andThen } from '../wire/maybe-promise.ts'
import { call } from './call.ts'
import type { Exchange, RegistryDependencies, RegistryResponse } from './door-context.ts'
import type { HeldUpload } from './held-upload.ts'
import { finishBlob, lengthOf, openUpload, saveUpload, whileHeld } from './held-upload.ts'
import { findNamed, repoForPush, repoOf } from './names.ts'
import { receiveBody, uploadHeaders } from './received-bytes.ts'
import { isRepoName } from './route.ts'

export async function beginUpload(deps: RegistryDependencies, exchange: Exchange): Promise<RegistryResponse> {
  const { query } = exchange
  const mount = query.get('mount')
  if (mount !== null) {
    const digest = requireDigest(mount)
    // A blob that the storage has lost is uploaded again.
    const isMounted = (await mountBlob(deps, exchange, digest)) && !(await deps.lostBlobs.isLost(digest))
    if (isMounted) return storedAnswer(exchange, digest)
    return acceptedAnswer(exchange, await newUpload(deps, exchange, algorithmOf(digest)))
  }
  const text = query.get('digest')
  if (text === null) return acceptedAnswer(exchange, await newUpload(deps, exchange, algorithmIn(query)))
  const digest = requireDigest(text)
  const held = await newUpload(deps, exchange, algorithmOf(digest), digest)
  const store = async (signal: AbortSignal) => {
    await receiveBody(deps, exchange, held, signal)
    await finishBlob(deps, exchange, held, digest)
  }
  await whileHeld(deps, exchange, held, store, false)
  return storedAnswer(exchange, digest)
}

async function mountBlob(deps: RegistryDependencies, exchange: Exchange, digest: Digest): Promise<boolean> {
  const from = exchange.query.get('from')
  const { mounted } = await call(deps, exchange, Content.method.mountBlob, async () => {
    const source = from === null ? '' : await sourceOf(deps, exchange, from)
    return { repo: await repoForPush(deps, exchange), digest, source }
  })
  return mounted
}

/** A source that does not exist is like one that the client may not read: the client uploads the blob. */
async function sourceOf(deps: RegistryDependencies, exchange: Exchange, name: string): Promise<string> {
  if (!isRepoName(name)) return 'none'
  const found = await findNamed(deps, exchange, name)
  return found.kind === 'repo' ? found.uid : 'none'
}

/** `digest` is that of the content if this request also sends the content, otherwise empty. */
async function newUpload(
  deps: RegistryDependencies,
  exchange: Exchange,
  algorithm: Algorithm,
  digest = '',
): Promise<HeldUpload> {
  const open = digest !== ''
  let repo = ''
  const reply = await call(deps, exchange, Content.method.beginUpload, () =>
    andThen(repoForPush(deps, exchange), (uid) => {
      repo = uid
      return { repo, digest, open, ...lengthOf(exchange) }
    }),
  )
  const { id, lease, identity } = reply
  const upload = await deps.blobs.begin(id, algorithm).catch(async (error: unknown) => {
    // Otherwise each retry of the client would add an upload that counts towards the limit.
    try {
      await call(deps, exchange, Content.method.cancelUpload, () => ({ repo, id, lease }))
    } catch {
      // It is collected later.
    }
    throw error
  })
  return { repo, lease, identity, upload, reservation: reply, isHeld: open, mayBePublished: false }
}

export async function getUpload(
  deps: RegistryDependencies,
  exchange: Exchange,
  id: string,
): Promise<RegistryResponse> {
  const { size, state } = await call(deps, exchange, Content.method.getUpload, () =>
    andThen(repoOf(deps, exchange), (repo) => ({ repo, id })),
  )
  const upload = { id, size: Number(size), state }
  return {
    status: 204,
    headers: uploadHeaders(exchange, { ...upload, size: await deps.blobs.uploadSize(upload) }),
  }
}

export async function patchUpload(
  deps: RegistryDependencies,
  exchange: Exchange,
  id: string,
): Promise<RegistryResponse> {
  const held = await openUpload(deps, exchange, id)
  await whileHeld(deps, exchange, held, async (signal) => {
    await receiveBody(deps, exchange, held, signal)
    await saveUpload(deps, exchange, held)
  })
  return acceptedAnswer(exchange, held)
}

export async function finishUpload(
  deps: RegistryDependencies,
  exchange: Exchange,
  id: string,
): Promise<RegistryResponse> {
  const text = exchange.query.get('digest') ?? ''
  const held = await openUpload(deps, exchange, id, parseDigest(text))
  await whileHeld(deps, exchange, held, async (signal) => {
    const digest = requireDigest(text)
    const { headers } = exchange.request
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
    if (hasBody) await receiveBody(deps, exchange, held, signal)
    await finishBlob(deps, exchange, held, digest)
  })
  return storedAnswer(exchange, requireDigest(text))
}

export async function cancelUpload(
  deps: RegistryDependencies,
  exchange: Exchange,
  id: string,
): Promise<RegistryResponse> {
  await call(deps, exchange, Content.method.cancelUpload, () =>
    andThen(repoOf(deps, exchange), (repo) => ({ repo, id })),
  )
  await deps.blobs.discard({ id })
  return { status: 204 }
}

const acceptedAnswer = (exchange: Exchange, { upload }: Pick<HeldUpload, 'upload'>): RegistryResponse => ({
  ...{ status: 202, headers: uploadHeaders(exchange, upload) },
})

const storedAnswer = ({ name }: Exchange, digest: Digest): RegistryResponse => ({
  status: 201,
  headers: { location: `/v2/${name}/blobs/${digest}`, 'docker-content-digest': digest },
})

function requireDigest(text: string): Digest {
  const digest = parseDigest(text)
  if (digest) return digest
  throw registryError(
    'DIGEST_INVALID',
    Code.INVALID_ARGUMENT,
    'digest must be sha256: and 64 hexadecimal digits, or sha512: and 128',
  )
}

function algorithmIn(query: URLSearchParams): Algorithm {
  const name = query.get('digest-algorithm') ?? 'sha256'
  if (name === 'sha256' || name === 'sha512') return name
  throw registryError('UNSUPPORTED', Code.INVALID_ARGUMENT, 'digest-algorithm must be sha256 or sha512')
}
