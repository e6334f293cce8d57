// A process that pushes blobs into a folder until it is killed. Prints the digest of each blob that is finished.
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { Readable } from 'node:stream'
import { parseDigest } from '../blobs/digest.ts'
import { openFilesStore } from '../blobs/files/files-store.ts'

const [folder = '', pushers = '4'] = process.argv.slice(2)
const blobs = await openFilesStore({ folder })
await Promise.all(Array.from({ length: Number(pushers) }, pushForever))

async function pushForever(): Promise<never> {
  for (;;) {
    const content = randomBytes(randomInt(1, 2_000_000))
    const digest = parseDigest(`sha256:${createHash('sha256').update(content).digest('hex')}`)
    if (!digest) throw new Error('unreachable')
    let upload = await blobs.begin(randomBytes(16).toString('hex'))
    while (upload.size < content.length) {
      const chunk = content.subarray(upload.size, upload.size + 600_000)
      upload = (await blobs.append(upload, Readable.from([chunk], { objectMode: false }))).upload
    }
    await blobs.finish(upload, digest)
    process.stdout.write(`${digest}\n`)
  }
}
