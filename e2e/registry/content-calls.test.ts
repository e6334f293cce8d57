// The calls about the content of images, which are answered from what was pushed.
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ImagesService } from '@stemma/api/gen/platform/registry/v2beta1/image_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { sql } from '../../server/store/sql.ts'
import { all } from '../../server/store/work.ts'
import { grpcDoor } from '../../server/testing/doors.ts'
import type { ExampleContext } from '../contract/examples.ts'
import { examples, violations } from '../contract/examples.ts'
import { descriptor, digestOf, imageOf, indexOf, ociClient, pushParts, types } from './oci-client.ts'

const { createRepo } = ReposService.method
const { getArchitectures, getSize } = ImagesService.method
const v1 = Registry.method

const configOf = (architecture: string, fields: object = {}) =>
  JSON.stringify({ os: 'linux', architecture, ...fields })

async function openRepo({ succeed, owner, platform }: ExampleContext, name = 'web') {
  const { uid } = await succeed(createRepo, { parent: owner.organization, repo: { name } })
  return { repo: uid as string, client: ociClient(platform.url, owner.token) }
}

const unknown = digestOf('unknown')

examples('calls about images', {
  async 'return the architectures and sizes of an index and of single images'(stage) {
    const { repo, client } = await openRepo(stage)
    const amd64 = await pushParts(client, repo, '', { config: configOf('amd64'), layers: ['a', 'shared'] })
    const arm64 = await pushParts(client, repo, '', { config: configOf('arm64'), layers: ['shared'] })
    const index = indexOf([
      { manifest: amd64, platform: { os: 'linux', architecture: 'amd64' } },
      { manifest: arm64 },
    ])
    await client.pushManifest(repo, 'latest', index, types.index)
    const of = (manifest: string) => ({ repoUid: repo, digest: digestOf(manifest) })
    const ofV1 = (manifest: string) => ({ repoId: repo, digest: digestOf(manifest) })
    const { succeed, fail } = stage
    assert.deepEqual(await succeed(getArchitectures, of(index)), { architectures: ['amd64', 'arm64'] })
    assert.deepEqual(await succeed(v1.getArchs, ofV1(arm64)), { archs: ['arm64'] })
    const sizes: [JsonObject, number, string][] = [
      [of(index), configOf('amd64').length + 7, 'amd64'],
      [{ ...of(index), architecture: 'arm64' }, configOf('arm64').length + 6, 'arm64'],
      [{ ...of(index), architecture: 'linux/arm64' }, configOf('arm64').length + 6, 'arm64'],
      [of(arm64), configOf('arm64').length + 6, 'arm64'],
    ]
    for (const [request, size, architecture] of sizes)
      assert.deepEqual(await succeed(getSize, request), { size: String(size), architecture })
    const v1Size = { size: String(configOf('arm64').length + 6), arch: 'arm64' }
    assert.deepEqual(await succeed(v1.getSize, { ...ofV1(index), arch: 'arm64' }), v1Size)
    const { code, message } = await fail(getSize, { ...of(index), architecture: 's390x' })
    assert.equal(code, 5)
    assert.match(message, /no image for "s390x"; its platforms are linux\/amd64, linux\/arm64/)
    assert.deepEqual(await succeed(v1.getManifestDigestCount, { parentId: repo }), { count: '3' })
    const organization = stage.owner.organization
    assert.deepEqual(await succeed(v1.getManifestDigestCount, { parentId: organization }), { count: '3' })
  },

  async 'find the image of an architecture in an index inside an index'(stage) {
    const { repo, client } = await openRepo(stage)
    const [amd64, arm64] = await Promise.all(
      ['amd64', 'arm64'].map((name) =>
        pushParts(client, repo, '', { config: configOf(name), layers: [`layer of ${name}`] }),
      ),
    )
    const entryOf = (manifest = '', architecture = '', type = types.manifest) => ({
      ...{ manifest, type, platform: { os: 'linux', architecture } },
    })
    const both = indexOf([entryOf(amd64, 'amd64'), entryOf(arm64, 'arm64')])
    const armOnly = indexOf([entryOf(arm64, 'arm64')])
    for (const inner of [both, armOnly]) {
      await client.pushManifest(repo, digestOf(inner), inner, types.index)
      const outer = indexOf([entryOf(inner, 'arm64', types.index)])
      await client.pushManifest(repo, digestOf(outer), outer, types.index)
      const request = { repoUid: repo, digest: digestOf(outer), architecture: 'arm64' }
      assert.deepEqual(await stage.succeed(getSize, request), {
        size: String(configOf('arm64').length + 'layer of arm64'.length),
        architecture: 'arm64',
      })
    }
  },

  async 'return the settings of an image, and leave out what has a wrong type'(stage) {
    const { repo, client } = await openRepo(stage)
    const settings = {
      User: '65532',
      ExposedPorts: { '8080/tcp': {}, '9090/tcp': 'x' },
      Env: ['PATH=/bin', 1, null],
      Entrypoint: ['/bin/app'],
      Cmd: 'serve',
      Volumes: null,
      WorkingDir: '/home',
      Labels: { a: 'b', c: 1, '\ud800': 'e' },
      StopSignal: 'SIGTERM',
    }
    // In an object literal, `__proto__` would be the prototype, not a label.
    const config = configOf('amd64', { config: settings }).replace('"a":"b"', '"a":"b","__proto__":"d"')
    const manifest = await pushParts(client, repo, '', { config, layers: [] })
    const request = { repoId: repo, digest: digestOf(manifest) }
    const { labels, ...others } = await stage.succeed(v1.getImageConfig, request)
    assert.deepEqual(Object.keys(labels as object).sort(), ['__proto__', 'a', '\ufffd'])
    assert.deepEqual(others, {
      user: '65532',
      exposedPorts: { '8080/tcp': {}, '9090/tcp': {} },
      env: ['PATH=/bin'],
      entrypoint: ['/bin/app'],
      cmd: [],
      volumes: {},
      workingDir: '/home',
      stopSignal: 'SIGTERM',
    })
    for (const hostile of ['no JSON', '[]', '{}', configOf('amd64', { history: 'x'.repeat(2 ** 20) })]) {
      const image = await pushParts(client, repo, '', { config: hostile, layers: [] })
      const { code } = await stage.fail(v1.getImageConfig, { repoId: repo, digest: digestOf(image) })
      assert.equal(code, 9)
    }
  },

  async 'check access before they say whether an image exists'(stage) {
    const { repo, client } = await openRepo(stage)
    const manifest = await pushParts(client, repo, '', { config: configOf('amd64'), layers: [] })
    const stranger = await stage.platform.addOrganization('stranger')
    for (const digest of [digestOf(manifest), unknown]) {
      const calls: [DescMethod, JsonObject][] = [
        [getArchitectures, { repoUid: repo, digest }],
        [getSize, { repoUid: repo, digest }],
        [v1.getArchs, { repoId: repo, digest }],
        [v1.getSize, { repoId: repo, digest }],
        [v1.getImageConfig, { repoId: repo, digest }],
        [v1.getRawSbom, { repoId: repo, digest }],
        [v1.listManifestMetadata, { repoId: repo, digests: [digest] }],
      ]
      for (const [method, request] of calls) {
        const refused = await stage.fail(method, request, stranger.token)
        assert.equal(refused.code, 7)
        if (digest !== unknown) continue
        const missing = await stage.fail(method, request)
        assert.equal(missing.code, 5)
        assert.match(missing.message, /the repo has no image sha256:/)
      }
    }
    const wrong = await stage.fail(v1.getSize, { repoId: repo, digest: 'latest' })
    assert.deepEqual(violations(wrong), ['digest'])
  },
})

const spdx = {
  spdxVersion: 'SPDX-2.3',
  packages: [
    {
      name: 'libssl3',
      licenseDeclared: 'Apache-2.0',
      builtDate: '2026-01-02T03:04:05Z',
      externalRefs: [
        {
          referenceCategory: 'PACKAGE-MANAGER',
          referenceType: 'purl',
          referenceLocator: 'pkg:apk/wolfi/libssl3@3.5.0-r0?arch=x86_64&origin=openssl',
        },
      ],
    },
    { name: 'without purl', licenseDeclared: 'NOASSERTION' },
    'no package',
    { externalRefs: [{ referenceType: 'purl', referenceLocator: 'javascript:alert(1)' }] },
  ],
}
const fromSpdx = {
  purl: 'pkg:apk/wolfi/libssl3@3.5.0-r0?arch=x86_64&origin=openssl',
  originPurl: 'pkg:apk/wolfi/openssl@3.5.0-r0',
  license: 'Apache-2.0',
}
const cycloneDx = {
  bomFormat: 'CycloneDX',
  components: [
    {
      purl: 'pkg:npm/left-pad@1.3.0',
      licenses: [{ license: { id: 'MIT' } }, { expression: 'WTFPL' }],
      components: [{ purl: 'pkg:npm/inner@1.0.0' }],
    },
  ],
}
const fromCycloneDx = [
  { purl: 'pkg:npm/left-pad@1.3.0', originPurl: 'pkg:npm/left-pad@1.3.0', license: 'MIT AND WTFPL' },
  { purl: 'pkg:npm/inner@1.0.0', originPurl: 'pkg:npm/inner@1.0.0', license: '' },
]
const statementOf = (predicateType: string, predicate: unknown) => ({
  ...{ _type: 'https://in-toto.io/Statement/v1', predicateType, predicate },
})
const envelopeOf = (statement: object) => ({
  payloadType: 'application/vnd.in-toto+json',
  payload: Buffer.from(JSON.stringify(statement)).toString('base64'),
})

/** Pushes a manifest with these layers, which refers to a subject or has a tag, or both. */
async function attach(
  { repo, client }: Awaited<ReturnType<typeof openRepo>>,
  to: { subject?: string; tag?: string },
  layers: readonly [content: string, type: string][],
) {
  for (const [content] of layers) await client.pushBlob(repo, content)
  const manifest = imageOf('', {
    config: descriptor('{}', 'application/vnd.oci.empty.v1+json'),
    layers: layers.map(([content, type]) => descriptor(content, type)),
    ...(to.subject !== undefined && { subject: descriptor(to.subject, types.manifest) }),
  })
  await client.pushBlob(repo, '{}')
  await client.pushManifest(repo, to.tag ?? digestOf(manifest), manifest)
}

const dsse = 'application/vnd.dsse.envelope.v1+json'

examples('packages of images', {
  async 'are read from SBOMs in every form in which tools attach them'(stage) {
    const place = await openRepo(stage)
    const { repo, client } = place
    const push = (name: string) => pushParts(client, repo, '', { config: configOf('amd64'), layers: [name] })
    const packagesOf = async (digest: string) => {
      const { items } = await stage.succeed(v1.listManifestMetadata, { repoId: repo, digests: [digest] })
      const [item] = items as { digest: string; pkgMetadata: { buildTimestamp?: string }[] }[]
      return item?.pkgMetadata.map(({ buildTimestamp: _, ...rest }) => rest)
    }
    const spdxText = JSON.stringify(spdx)
    const provenance = JSON.stringify(envelopeOf(statementOf('https://slsa.dev/provenance/v1', { a: 1 })))
    const spdxStatement = statementOf('https://spdx.dev/Document', spdx)
    const oldStatement = statementOf('https://spdx.dev/Document', { Data: spdxText })
    const cycloneText = JSON.stringify(cycloneDx)
    const cosignTag = (manifest: string, end: string) => `${digestOf(manifest).replace(':', '-')}.${end}`
    const images = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(push))
    const [a = '', b = '', c = '', d = '', e = '', f = '', none = ''] = images
    await attach(place, { subject: a }, [[spdxText, 'application/spdx+json']])
    await attach(place, { subject: b }, [[cycloneText, 'application/vnd.cyclonedx+json']])
    await attach(place, { subject: c }, [
      ['no JSON', dsse],
      [provenance, dsse],
      [JSON.stringify(envelopeOf(spdxStatement)), dsse],
    ])
    const bundle = { mediaType: 'x', dsseEnvelope: envelopeOf(oldStatement) }
    const bundleType = 'application/vnd.dev.sigstore.bundle.v0.3+json'
    await attach(place, { subject: d }, [[JSON.stringify(bundle), bundleType]])
    await attach(place, { tag: cosignTag(e, 'sbom') }, [[spdxText, 'text/spdx+json']])
    const attestation = JSON.stringify(envelopeOf(statementOf('https://cyclonedx.org/bom', cycloneDx)))
    await attach(place, { tag: cosignTag(f, 'att') }, [[attestation, dsse]])
    for (const manifest of [a, c, d, e]) assert.deepEqual(await packagesOf(digestOf(manifest)), [fromSpdx])
    for (const manifest of [b, f]) assert.deepEqual(await packagesOf(digestOf(manifest)), fromCycloneDx)
    assert.deepEqual(await packagesOf(digestOf(none)), [])

    const raw = await stage.succeed(v1.getRawSbom, { repoId: repo, digest: digestOf(c) })
    assert.deepEqual(JSON.parse(raw.rawSbom as string), spdx)
    const missing = await stage.fail(v1.getRawSbom, { repoId: repo, digest: digestOf(none) })
    assert.match(missing.message, /the repo has no SBOM of/)
    // The SBOM of an index is that of its image for the requested or default architecture.
    const index = indexOf([{ manifest: a, platform: { os: 'linux', architecture: 'amd64' } }])
    await client.pushManifest(repo, 'latest', index, types.index)
    assert.deepEqual(await packagesOf(digestOf(index)), [fromSpdx])
    // BuildKit lists attestations beside the image, with the platform unknown/unknown.
    const [statement, inToto] = [JSON.stringify(spdxStatement), 'application/vnd.in-toto+json']
    await client.pushBlob(repo, statement)
    const attestationManifest = imageOf(statement, { layers: [descriptor(statement, inToto)] })
    await client.pushManifest(repo, digestOf(attestationManifest), attestationManifest)
    const built = JSON.stringify({
      ...{ schemaVersion: 2, mediaType: types.index },
      manifests: [
        { ...descriptor(none, types.manifest), platform: { os: 'linux', architecture: 'amd64' } },
        {
          ...descriptor(attestationManifest, types.manifest),
          platform: { os: 'unknown', architecture: 'unknown' },
          annotations: {
            'vnd.docker.reference.type': 'attestation-manifest',
            'vnd.docker.reference.digest': digestOf(none),
          },
        },
      ],
    })
    await client.pushManifest(repo, 'built', built, types.index)
    for (const manifest of [built, none]) assert.deepEqual(await packagesOf(digestOf(manifest)), [fromSpdx])
    // Published clients send the field `items`, a list of messages, which a REST query cannot contain.
    const grpc = grpcDoor(stage.platform.url)
    const entries = [
      { imageDigest: digestOf(b) },
      { indexFilter: { digest: digestOf(index), arch: 'amd64' } },
      { imageDigest: digestOf(a) }, // the same image as in the index
    ]
    const request = { repoId: repo, items: entries }
    const { body } = await grpc.call(v1.listManifestMetadata, request, stage.owner.token)
    grpc.close()
    const items = body?.items as { digest: string; pkgMetadata: unknown[] }[]
    assert.deepEqual(
      items.map(({ digest, pkgMetadata }) => [digest, pkgMetadata.length]),
      [
        [digestOf(b), 2],
        [digestOf(a), 1],
      ],
    )
  },

  async 'are read only from SBOMs of limited size, and not from hostile SBOMs'(stage) {
    const place = await openRepo(stage)
    const { repo, client } = place
    const deep = `{"bomFormat":"CycloneDX","components":${'[{"components":'.repeat(50_000)}[]${'}]'.repeat(50_000)}}`
    const hostile = [
      deep,
      `${'['.repeat(500_000)}`,
      JSON.stringify({ spdxVersion: 'SPDX-2.3', packages: { length: 1e9 } }),
      JSON.stringify({
        spdxVersion: 'SPDX-2.3',
        packages: [
          { externalRefs: [{ referenceType: 'purl', referenceLocator: `pkg:${'x'.repeat(2000)}` }] },
        ],
      }),
      JSON.stringify(envelopeOf(envelopeOf(envelopeOf(envelopeOf(envelopeOf(spdx)))))),
    ]
    for (const [at, content] of hostile.entries()) {
      const image = await pushParts(client, repo, '', { config: configOf('amd64'), layers: [`h${at}`] })
      await attach(place, { subject: image }, [[content, 'application/spdx+json']])
      const request = { repoId: repo, digests: [digestOf(image)] }
      const { items } = await stage.succeed(v1.listManifestMetadata, request)
      assert.deepEqual(items, [{ digest: digestOf(image), pkgMetadata: [] }], String(at))
    }
    const image = await pushParts(client, repo, '', { config: configOf('amd64'), layers: ['large'] })
    const large = ' '.repeat(1000)
    await attach(place, { subject: image }, [[large, 'application/spdx+json']])
    const setSize = (size: number) =>
      stage.platform.store.write(() =>
        all(sql`update blobs set size = ${size} where digest = ${digestOf(large)}`),
      )
    // The call refuses a blob by its stored size, before it reads the blob.
    await setSize(8 * 2 ** 20 + 1)
    const tooLarge = await stage.fail(v1.listManifestMetadata, { repoId: repo, digests: [digestOf(image)] })
    assert.match(tooLarge.message, /has 8388609 bytes; at most 8388608 can be read/)
    await setSize(large.length)
    const none = await stage.fail(v1.listManifestMetadata, { repoId: repo })
    assert.deepEqual(violations(none), ['digests'])
    const many = Array.from({ length: 21 }, (_, at) => digestOf(String(at)))
    assert.equal((await stage.fail(v1.listManifestMetadata, { repoId: repo, digests: many })).code, 3)
  },
})

/** A tar archive of short files. */
function tarOf(files: Record<string, string>): Buffer {
  const blocks = Object.entries(files).flatMap(([path, text]) => {
    const header = Buffer.alloc(512)
    header.write(path)
    header.write(Buffer.byteLength(text).toString(8).padStart(11, '0'), 124)
    header.write('0ustar', 156)
    return [header, Buffer.from(text), Buffer.alloc((512 - (Buffer.byteLength(text) % 512)) % 512)]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

const chartTypes = {
  config: 'application/vnd.cncf.helm.config.v1+json',
  archive: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
}

async function pushChart(
  { repo, client }: Awaited<ReturnType<typeof openRepo>>,
  config: string,
  archive: Buffer,
) {
  await client.pushBlob(repo, config)
  const digest = digestOf(archive)
  await client.expect(201, 'POST', `/v2/${repo}/blobs/uploads/?digest=${digest}`, {
    body: new Uint8Array(archive),
  })
  const layers = [{ mediaType: chartTypes.archive, digest, size: archive.length }]
  const manifest = imageOf('', { config: descriptor(config, chartTypes.config), layers })
  await client.pushManifest(repo, digestOf(manifest), manifest)
  return { repoId: repo, digest: digestOf(manifest) }
}

const tooLargeUnpacked = gzipSync(
  Buffer.concat([tarOf({ 'web/values.yaml': 'replicas: 2\n' }), Buffer.alloc(16 * 2 ** 20)]),
)

examples('charts of Helm', {
  async 'are read from their configuration and their archive'(stage) {
    const place = await openRepo(stage, 'chart')
    const fields = {
      ...{ name: 'web', version: '1.2.3', appVersion: '4', description: 'A web server', type: 'application' },
      dependencies: [{ name: 'redis', version: '^7', repository: 'oci://charts.test' }, 'no object'],
      annotations: { images: '- name: web\n  image: acme/web:4\n- image: "acme/db"\n', other: 'x', wrong: 1 },
    }
    const files = {
      'web/Chart.yaml': 'name: web\n',
      'web/values.yaml': 'replicas: 2\n',
      'web/charts/redis/values.yaml': 'other: 1\n',
      'web/CHANGELOG.md': '# 1.2.3\n',
    }
    const archive = gzipSync(tarOf(files))
    const request = await pushChart(place, JSON.stringify(fields), archive)
    assert.deepEqual(await stage.succeed(v1.getChart, request), {
      ...{ name: 'web', version: '1.2.3', appVersion: '4', description: 'A web server' },
      dependencies: [{ name: 'redis', version: '^7', repository: 'oci://charts.test' }],
      annotations: { images: fields.annotations.images, other: 'x' },
      images: [
        { name: 'web', image: 'acme/web:4' },
        { name: '', image: 'acme/db' },
      ].map((image) => ({ ...image, requirement: 'REQUIREMENT_UNSPECIFIED' })),
      ...{ raw: 'name: web\n', values: 'replicas: 2\n', changelog: '# 1.2.3\n' },
    })
    const entries = [
      ...[
        ' '.repeat(900_000),
        '- name: web',
        '  image: acme/web:4',
        '  platforms:',
        '    - name: linux/amd64',
      ],
      ...['- platform: linux/arm64', '  image: acme/db', '  name: db', '- whitelisted: true'],
    ].join('\n')
    const listed = JSON.stringify({ ...fields, annotations: { images: entries } })
    const { images } = await stage.succeed(v1.getChart, await pushChart(place, listed, archive))
    assert.deepEqual(
      (images as JsonObject[]).map(({ name, image }) => [name, image]),
      [
        ['web', 'acme/web:4'],
        ['db', 'acme/db'],
      ],
    )
    // If the archive cannot be read or is too large unpacked, the texts from it are empty.
    const archives = [Buffer.from('no archive'), tooLargeUnpacked, gzipSync(tarOf(files)).subarray(0, 60)]
    for (const broken of archives) {
      const chart = await stage.succeed(v1.getChart, await pushChart(place, '{"name":"web"}', broken))
      assert.deepEqual([chart.name, chart.values], ['web', ''])
    }
    const image = await pushParts(place.client, place.repo, '', { config: configOf('amd64'), layers: ['a'] })
    for (const other of [
      { repoId: place.repo, digest: digestOf(image) },
      await pushChart(place, '[]', archive),
    ])
      assert.match((await stage.fail(v1.getChart, other)).message, /is not a Helm chart/)
  },
})
