import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Algorithm } from './digest.ts'
import type { Pace } from './pace.ts'

const bufferBytes = 512 * 1024

export async function hashFile(file: FileHandle, algorithm: Algorithm, pace: Pace): Promise<string> {
  const hash = createHash(algorithm)
  const buffer = Buffer.allocUnsafeSlow(bufferBytes)
  for (let position = 0; ; ) {
    const { bytesRead } = await file.read(buffer, 0, bufferBytes, position)
    if (bytesRead === 0) return hash.digest('hex')
    await pace(bytesRead, algorithm)
    hash.update(buffer.subarray(0, bytesRead))
    position += bytesRead
  }
}

export async function hashStream(stream: Readable, algorithm: Algorithm, pace: Pace): Promise<string> {
  const hash = createHash(algorithm)
  for await (const chunk of stream) {
    await pace(chunk.length, algorithm)
    hash.update(chunk)
  }
  return hash.digest('hex')
}
