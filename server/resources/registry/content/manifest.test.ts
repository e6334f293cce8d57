import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { InvalidManifest, maxReferences, mediaTypes, readManifest } from './manifest.ts'

const digestOf = (digit: string) => `sha256:${digit.repeat(64)}`
const descriptor = (digit: string, mediaType = 'application/octet-stream') => ({
  ...{ mediaType, digest: digestOf(digit), size: 7 },
})
const image = (fields: object = {}) => ({
  ...{
    schemaVersion: 2,
    config: descriptor('c', 'application/vnd.oci.image.config.v1+json'),
    layers: [descriptor('1')],
  },
  ...fields,
})
const read = (value: unknown, type = mediaTypes.ociManifest) =>
  readManifest(
    value instanceof Buffer ? value : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
    type,
  )

describe('a manifest', () => {
  test('of an image refers to its config and its layers', () => {
    const { blobs, config, artifactType, subject } = read(
      image(),
      `${mediaTypes.dockerManifest}; charset=utf-8`,
    )
    assert.deepEqual(
      blobs.map(({ digest }) => digest),
      [digestOf('c'), digestOf('1')],
    )
    assert.equal(config?.digest, digestOf('c'))
    assert.equal(artifactType, 'application/vnd.oci.image.config.v1+json')
    assert.equal(subject, undefined)
  })

  test('does not need layers that may not be distributed', () => {
    const types = [
      'application/vnd.oci.image.layer.nondistributable.v1.tar+gzip',
      'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip',
    ]
    const { blobs } = read(image({ layers: types.map((type) => descriptor('2', type)) }))
    assert.deepEqual(
      blobs.map(({ digest }) => digest),
      [digestOf('c')],
    )
  })

  test('of an index refers to manifests with their platforms', () => {
    const platform = { os: 'linux', architecture: 'arm', variant: 'v7', 'os.version': '1' }
    const index = { schemaVersion: 2, manifests: [{ ...descriptor('3'), platform }, descriptor('4')] }
    const { manifests, blobs, artifactType } = read(index, mediaTypes.ociIndex)
    assert.deepEqual(manifests[0]?.platform, { os: 'linux', architecture: 'arm', variant: 'v7' })
    assert.deepEqual([manifests[1]?.platform, blobs, artifactType], [undefined, [], ''])
    assert.deepEqual(read({ schemaVersion: 2, manifests: [] }, mediaTypes.dockerList).manifests, [])
  })

  test('may have a subject, an artifact type, annotations, and fields that are unknown here', () => {
    const { subject, artifactType, annotations } = read(
      image({
        subject: descriptor('5'),
        artifactType: 'text/sbom',
        annotations: { a: 'b' },
        custom: { x: [1] },
      }),
    )
    assert.equal(subject?.digest, digestOf('5'))
    assert.deepEqual([artifactType, annotations], ['text/sbom', { a: 'b' }])
  })

  test('that is invalid is refused with the field that is wrong', () => {
    const cases: [value: unknown, message: RegExp, type?: string][] = [
      ['{', /not JSON/],
      [Buffer.from('{"mediaType":"\xff"}', 'latin1'), /not JSON/],
      ['[]', /not a JSON object/],
      [{ ...image(), schemaVersion: 1 }, /^schemaVersion must be 2$/],
      [{ ...image(), mediaType: mediaTypes.ociIndex }, /^mediaType is .*index/],
      [image({ config: undefined }), /^config must be a descriptor$/],
      [image({ layers: {} }), /^layers must be a list$/],
      [
        image({ layers: [{ ...descriptor('1'), digest: 'sha256:baddigest' }] }),
        /^layers\[0\]\.digest must be a digest/,
      ],
      [image({ layers: [{ ...descriptor('1'), size: -1 }] }), /^layers\[0\]\.size/],
      [
        image({ layers: [{ ...descriptor('1'), mediaType: undefined }] }),
        /^layers\[0\]\.mediaType is required$/,
      ],
      [
        image({ layers: Array(maxReferences + 1).fill(descriptor('1')) }),
        /^layers must have at most 2000 entries$/,
      ],
      [image({ annotations: { a: 1 } }), /^annotations must have texts/],
      [
        image({ annotations: Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [at, ''])) }),
        /^annotations must have at most 1000 entries$/,
      ],
      [
        `{"a":"${'x'.repeat(64 * 1024)}","b":${'['.repeat(200)}`,
        /^the manifest is nested more than 100 levels/,
      ],
      [image({ artifactType: 'text/\0' }), /^artifactType must be a media type/],
      [image({ manifests: [] }), /must not have manifests/],
      [{ schemaVersion: 2, manifests: [], layers: [] }, /must not have layers/, mediaTypes.ociIndex],
      [image(), /"text\/plain" is not supported/, 'text/plain'],
    ]
    for (const [value, message, type] of cases)
      assert.throws(
        () => read(value, type),
        (error) => error instanceof InvalidManifest && message.test(error.message),
        String(message),
      )
  })
})
