// Behaviour that only the driver for files has. conformance.test.ts has the rest.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readdir, rename, rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough, Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { newUploadId } from '../../testing/blob-drivers.ts'
import { temporaryFolder } from '../../testing/stores.ts'
import type { BlobStore } from '../blob-store.ts'
import { algorithmOf, type Digest, hexOf, parseDigest } from '../digest.ts'
import { hashStream } from '../hash-content.ts'
import { makePace } from '../pace.ts'
import { openFilesStore } from './files-store.ts'

const pushBlobs = fileURLToPath(new URL('../../testing/push-blobs.ts', import.meta.url))
const content = Buffer.from('content')
const contentDigest = digestOf(content)

function digestOf(bytes: Buffer): Digest {
  const digest = parseDigest(`sha256:${createHash('sha256').update(bytes).digest('hex')}`)
  assert.ok(digest)
  return digest
}

async function assertIntact(blobs: BlobStore, digest: Digest): Promise<void> {
  const stream = (await blobs.read(digest)).stream()
  assert.equal(await hashStream(stream, algorithmOf(digest), makePace()), hexOf(digest))
}

describe('a blob store in a folder', () => {
  let folder: string
  let blobs: BlobStore
  before(async () => {
    folder = await temporaryFolder()
    blobs = await openFilesStore({ folder: join(folder, 'content') })
  })
  after(() => rm(folder, { recursive: true }))

  const uploadPath = (id: string) => join(folder, 'content', 'uploads', id)

  test('creates files and folders that other users of the machine cannot read', async () => {
    const upload = await blobs.begin(newUploadId())
    assert.equal((await stat(uploadPath(upload.id))).mode & 0o777, 0o600)
    await blobs.append(upload, Readable.from([content]))
    await blobs.finish(upload, contentDigest)
    const hex = hexOf(contentDigest)
    const shard = join(folder, 'content', 'blobs', 'sha256', hex.slice(0, 2))
    assert.equal((await stat(join(shard, hex))).mode & 0o777, 0o600)
    for (const path of [shard, join(folder, 'content'), join(folder, 'content', 'uploads')]) {
      assert.equal((await stat(path)).mode & 0o777, 0o700)
    }
  })

  test('reports a full disk, and continues when there is space again', async () => {
    const upload = await blobs.begin(newUploadId())
    const half = (await blobs.append(upload, Readable.from([content.subarray(0, 4)]))).upload
    await rename(uploadPath(upload.id), join(folder, 'aside'))
    await symlink('/dev/full', uploadPath(upload.id))
    const { failure } = await blobs.append(half, Readable.from([content.subarray(4)]))
    assert.equal(failure?.code, 'no-space')
    await rename(join(folder, 'aside'), uploadPath(upload.id))
    assert.equal(await blobs.uploadSize(half), 4)
    const whole = (await blobs.append(half, Readable.from([content.subarray(4)]), { offset: 4 })).upload
    assert.equal(await blobs.finish(whole, contentDigest), content.length)
    await assertIntact(blobs, contentDigest)
  })

  test('is created in a relative folder whose name is one character long', async () => {
    const program = `import { openFilesStore } from ${JSON.stringify(import.meta.resolve('./files-store.ts'))}
      await openFilesStore({ folder: 'd/content' })`
    const node = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program]
    const { status, stderr } = spawnSync(process.execPath, node, {
      ...{ cwd: folder, encoding: 'utf8', timeout: 60_000 },
    })
    assert.deepEqual([status, stderr], [0, ''])
    assert.ok((await stat(join(folder, 'd', 'content', 'blobs'))).isDirectory())
  })

  test('gives back the space of an append that has filled the disk', async () => {
    const upload = await blobs.begin(newUploadId())
    const half = (await blobs.append(upload, Readable.from([content.subarray(0, 4)]))).upload
    const program = `import { Readable } from 'node:stream'
      import { openFilesStore } from ${JSON.stringify(import.meta.resolve('./files-store.ts'))}
      const blobs = await openFilesStore({ folder: ${JSON.stringify(join(folder, 'content'))} })
      const body = Readable.from(Array.from({ length: 8 }, () => Buffer.alloc(2 ** 20)))
      const { upload, failure } = await blobs.append(${JSON.stringify(half)}, body)
      console.log(failure?.code, upload.size)`
    const node = [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '-e',
      program,
    ]
    // Files can have at most 4 MiB: `ulimit -f` counts blocks of 1 KiB.
    const { stdout, stderr } = spawnSync('bash', ['-c', 'ulimit -f 4096 && exec "$@"', 'bash', ...node], {
      encoding: 'utf8',
    })
    assert.deepEqual([stdout, stderr], ['no-space 4\n', ''])
    assert.equal((await stat(uploadPath(upload.id))).size, 4)
    const whole = (await blobs.append(half, Readable.from([content.subarray(4)]), { offset: 4 })).upload
    await blobs.finish(whole, contentDigest)
    await assertIntact(blobs, contentDigest)
  })

  test('verifies a file that somebody else has changed', async () => {
    const upload = await blobs.begin(newUploadId())
    await blobs.append(upload, Readable.from([content]))
    const other = await openFilesStore({ folder: join(folder, 'content') })
    await other.append(upload, Readable.from([content]))
    await assert.rejects(blobs.finish(upload, contentDigest), { code: 'digest-mismatch' })
  })

  test('does not list an upload as abandoned while a client sends it', async () => {
    const upload = await blobs.begin(newUploadId())
    const body = new PassThrough()
    const appending = blobs.append(upload, body)
    const listed = await Array.fromAsync(blobs.abandoned(Number.MAX_SAFE_INTEGER))
    assert.ok(!listed.some(({ id }) => id === upload.id))
    body.end()
    await appending
  })

  test('does not finish a discarded upload, even if its blob exists already', async () => {
    const upload = await blobs.begin(newUploadId())
    await blobs.append(upload, Readable.from([Buffer.from('something else')]))
    await blobs.discard(upload)
    await assert.rejects(blobs.finish(upload, contentDigest), { code: 'not-found' })
  })
})

describe('a blob store in a folder whose process is killed', () => {
  let folder: string
  before(async () => {
    folder = await temporaryFolder()
  })
  after(() => rm(folder, { recursive: true }))

  /** Kills the process when it has finished some blobs and is working on others. */
  async function pushAndKill(blobCount: number): Promise<Digest[]> {
    const child = spawn(process.execPath, [pushBlobs, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
    const finished: Digest[] = []
    for await (const line of createInterface(child.stdout)) {
      const digest = parseDigest(line)
      if (digest) finished.push(digest)
      if (finished.length === blobCount) child.kill('SIGKILL')
    }
    if (child.signalCode === null) await once(child, 'exit')
    return finished
  }

  test('has every finished blob, and no incomplete one', async () => {
    const finished: Digest[] = []
    for (let round = 0; round < 4; round++) {
      finished.push(...(await pushAndKill(randomInt(4, 20))))
      const blobs = await openFilesStore({ folder })
      const listed = await Array.fromAsync(blobs.list())
      for (const { digest } of listed) await assertIntact(blobs, digest)
      const digests = new Set(listed.map(({ digest }) => digest))
      assert.deepEqual(
        finished.filter((digest) => !digests.has(digest)),
        [],
      )
      const abandoned = await Array.fromAsync(blobs.abandoned(Number.MAX_SAFE_INTEGER))
      assert.equal(abandoned.length, (await readdir(join(folder, 'uploads'))).length)
    }
    const blobs = await openFilesStore({ folder })
    for await (const upload of blobs.abandoned(Number.MAX_SAFE_INTEGER)) await blobs.discard(upload)
    assert.deepEqual(await readdir(join(folder, 'uploads')), [])
  })

  test('continues an upload after the last byte that was written', async () => {
    await pushAndKill(5)
    const blobs = await openFilesStore({ folder })
    for await (const { id } of blobs.abandoned(Number.MAX_SAFE_INTEGER)) {
      const upload = { id, size: 0, state: '' }
      const size = await blobs.uploadSize(upload)
      const offset = { offset: size }
      const appended = await blobs.append(upload, Readable.from([content]), offset)
      assert.equal(appended.upload.size, size + content.length)
    }
  })
})
