// Pushes a small image: a configuration, and one layer with one file.
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Actors } from './actors.ts'

const types = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
}

/** `repo` is the path of names below /v2/, `tags` are all tags of the image. */
export async function pushImage(
  actors: Actors,
  identity: string,
  { repo, tags, text, time }: { repo: string; tags: string[]; text: string; time: number },
): Promise<void> {
  const tar = tarOf('app.txt', `${text}\n`)
  const layer = gzipSync(tar)
  const created = new Date(time).toISOString()
  const config = Buffer.from(
    JSON.stringify({
      ...{ created, architecture: 'amd64', os: 'linux' },
      config: { User: '65532', Cmd: ['/app'] },
      rootfs: { type: 'layers', diff_ids: [digestOf(tar)] },
      history: [{ created, created_by: 'example' }],
    }),
  )
  for (const blob of [config, layer])
    await expectCreated(
      actors.send(identity, 'POST', `/v2/${repo}/blobs/uploads/?digest=${digestOf(blob)}`, {
        ...{ type: 'application/octet-stream', body: blob },
      }),
      repo,
    )
  const manifest = JSON.stringify({
    ...{ schemaVersion: 2, mediaType: types.manifest },
    config: { mediaType: types.config, digest: digestOf(config), size: config.length },
    layers: [{ mediaType: types.layer, digest: digestOf(layer), size: layer.length }],
    annotations: { 'org.opencontainers.image.created': created, 'org.opencontainers.image.title': text },
  })
  for (const tag of tags)
    await expectCreated(
      actors.send(identity, 'PUT', `/v2/${repo}/manifests/${tag}`, { type: types.manifest, body: manifest }),
      repo,
    )
}

async function expectCreated(status: Promise<number>, repo: string): Promise<void> {
  if ((await status) !== 201) throw new Error(`the image of ${repo} could not be pushed: ${await status}`)
}

const digestOf = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

const blockBytes = 512

/** A tar file (POSIX ustar) with one file. */
function tarOf(name: string, content: string): Buffer {
  const header = Buffer.alloc(blockBytes)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  header.write(name, 0)
  header.write(octal(0o644, 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(Buffer.byteLength(content), 12), 124)
  header.write(octal(0, 12), 136)
  header.write('        ', 148) // the checksum counts as spaces
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  const body = Buffer.from(content)
  const padding = Buffer.alloc((blockBytes - (body.length % blockBytes)) % blockBytes)
  return Buffer.concat([header, body, padding, Buffer.alloc(2 * blockBytes)])
}
