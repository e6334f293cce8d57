// `stemma images tree`, with images that were pushed through the registry.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { bytesText } from '../../cli/output/byte-units.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { OciClient } from '../registry/oci-client.ts'
import { descriptor, digestOf, imageOf, ociClient, types } from '../registry/oci-client.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'

const bundleType = 'application/vnd.dev.sigstore.bundle.v0.3+json'
const slsa = 'https://slsa.dev/provenance/v1'
const short = (digest: string) => digest.slice(0, 19)

describe('stemma images tree', () => {
  let platform: Platform
  let registry: OciClient
  let client: Client
  before(async () => {
    platform = await startPlatform('sqlite')
    registry = ociClient(platform.url, platform.owner.token)
    client = await openClient('inline')
  })
  after(async () => {
    await platform.stop()
    await client.remove()
  })

  const tree = (args: string[], api = platform.url, token = platform.owner.token) =>
    client.run(['images', 'tree', ...args], '', { STEMMA_API: api, STEMMA_TOKEN: token })

  /**
   * Pushes an index of two images. The first has a signature, an SBOM, a provenance attestation, and
   * a second signature that is found by its tag, as older versions of cosign push it.
   */
  async function pushIndex(name: string) {
    const config = JSON.stringify({ os: 'linux', architecture: 'amd64' })
    await registry.pushBlob(name, config)
    const image = (layer: string) =>
      imageOf(layer, {
        config: descriptor(config, types.config),
        layers: [descriptor('shared'), descriptor(layer)],
      })
    for (const content of ['shared', 'one', 'two', 'bundle', '{}']) await registry.pushBlob(name, content)
    const [one, two] = [image('one'), image('two')]
    for (const content of [one, two]) await registry.pushManifest(name, digestOf(content), content)
    const subject = descriptor(one, types.manifest)
    const referrer = (artifactType: string, annotations = {}) =>
      imageOf('bundle', {
        annotations,
        config: descriptor('{}', 'application/vnd.oci.empty.v1+json'),
        artifactType,
        subject,
      })
    const [signature, sbom] = [referrer(bundleType), referrer('application/spdx+json')]
    const provenance = referrer(bundleType, { 'dev.sigstore.bundle.predicateType': slsa })
    for (const content of [signature, sbom, provenance])
      await registry.pushManifest(name, digestOf(content), content)
    const taggedSignature = imageOf('bundle')
    await registry.pushManifest(name, `${digestOf(one).replace(':', '-')}.sig`, taggedSignature)
    const entry = (content: string, platform: object) => ({
      ...descriptor(content, types.manifest),
      platform,
    })
    const index = JSON.stringify({
      ...{ schemaVersion: 2, mediaType: types.index },
      manifests: [
        entry(one, { os: 'linux', architecture: 'amd64' }),
        entry(two, { os: 'linux', architecture: 'arm64', variant: 'v8' }),
      ],
    })
    await registry.pushManifest(name, 'v1', index, types.index)
    return { index, one, two, signature, sbom, taggedSignature, config }
  }

  test('shows platforms, parts and referrers with their sizes', async () => {
    const { index, one, two, signature, sbom, config } = await pushIndex('acme/app')
    const { code, stdout, stderr } = await tree(['acme/app:v1'])
    assert.equal(code, 0, stderr)
    const lines = stdout.split('\n')
    const total = [index, one, two, config, 'shared', 'one', 'two'].join('').length
    assert.match(
      lines[0] ?? '',
      new RegExp(`^acme/app:v1  index  ${bytesText(total)}  ${short(digestOf(index))}$`),
    )
    const shown = lines.map((line) => line.replace(/ {2}[\d.]+ k?B {2}sha256:[0-9a-f]{12}$/, ''))
    assert.deepEqual(shown.slice(1, 5), [
      '├── manifest  linux/amd64',
      '│   ├── config',
      '│   ├── layer',
      '│   ├── layer',
    ])
    const referrers = shown.filter((line) => /sbom|signature|attestation/.test(line)).sort()
    assert.deepEqual(
      referrers,
      [
        `│   ├── attestation  ${slsa}`,
        '│   ├── sbom  application/spdx+json',
        `│   ├── signature  ${bundleType}`,
        '│   └── signature',
      ].sort(),
    )
    assert.ok(shown.includes('└── manifest  linux/arm64/v8'))
    assert.ok(stdout.includes(short(digestOf(signature))) && stdout.includes(short(digestOf(sbom))))
  })

  test('shows blobs that an index lists directly, as in the caches of build tools', async () => {
    for (const content of ['cached', 'steps']) await registry.pushBlob('acme/cache', content)
    const manifests = [descriptor('cached'), descriptor('steps', 'application/vnd.buildkit.cacheconfig.v0')]
    const index = JSON.stringify({ schemaVersion: 2, mediaType: types.index, manifests })
    await registry.pushManifest('acme/cache', 'buildcache', index, types.index)
    const { code, stdout, stderr } = await tree(['acme/cache:buildcache'])
    assert.equal(code, 0, stderr)
    assert.equal(stdout.match(/── layer {2}/g)?.length, 2)
    assert.ok(stdout.includes(bytesText(index.length + 'cachedsteps'.length)), stdout)
  })

  test('shows an entry of an index whose manifest was deleted, and a config that is not JSON', async () => {
    const { two } = await pushIndex('acme/partial')
    await registry.expect(202, 'DELETE', `/v2/acme/partial/manifests/${digestOf(two)}`)
    const { code, stdout, stderr } = await tree(['acme/partial:v1'])
    assert.equal(code, 0, stderr)
    assert.match(stdout, new RegExp(`└── manifest {2}[^│\\n]*${short(digestOf(two))}\n$`))
    for (const content of ['no config', 'layer']) await registry.pushBlob('acme/partial', content)
    const image = imageOf('layer', { config: descriptor('no config', types.config) })
    await registry.pushManifest('acme/partial', 'v2', image)
    const second = await tree(['acme/partial:v2'])
    assert.equal(second.code, 0, second.stderr)
    assert.match(second.stdout, /── config {2}9 B/)
  })

  test('ignores other tags that begin with the digest of an image', async () => {
    const digest = await registry.pushImage('acme/tagged', 'v1', 'tagged')
    for (const end of ['constructor', 'toString', 'other'])
      await registry.pushImage('acme/tagged', `${digest.replace(':', '-')}.${end}`, end)
    const { code, stdout, stderr } = await tree(['acme/tagged:v1'])
    assert.equal(code, 0, stderr)
    assert.deepEqual(stdout.match(/(?<=── )\w+/g), ['config', 'layer'])
  })

  test('shows no platform for the attestations of buildkit', async () => {
    const config = JSON.stringify({ os: 'unknown', architecture: 'unknown' })
    for (const content of [config, 'statement']) await registry.pushBlob('acme/built', content)
    const attestation = imageOf('statement', { config: descriptor(config, types.config) })
    await registry.pushManifest('acme/built', digestOf(attestation), attestation)
    const platform = { os: 'unknown', architecture: 'unknown' }
    const annotations = { 'vnd.docker.reference.type': 'attestation-manifest' }
    for (const fields of [{ platform, annotations }, { platform }]) {
      const manifests = [{ ...descriptor(attestation, types.manifest), ...fields }]
      const index = JSON.stringify({ schemaVersion: 2, mediaType: types.index, manifests })
      await registry.pushManifest('acme/built', 'v1', index, types.index)
      const { children } = JSON.parse((await tree(['acme/built:v1', '-o', 'json'])).stdout)
      const kind = 'annotations' in fields ? 'attestation' : 'manifest'
      assert.deepEqual([children[0].kind, children[0].platform], [kind, undefined])
    }
  })

  test('shows only the levels up to --depth, in each output format', async () => {
    const { index, one } = await pushIndex('acme/formats')
    const uid = (
      await client.run(['repos', 'list', '--name', 'formats', '-o', 'uid'], '', {
        ...{ STEMMA_API: platform.url, STEMMA_TOKEN: platform.owner.token },
      })
    ).stdout.trim()
    const json = JSON.parse((await tree([`${uid}:v1`, '-o', 'json', '--depth', '1'])).stdout)
    assert.deepEqual([json.kind, json.digest, json.size], ['index', digestOf(index), index.length])
    assert.deepEqual(
      json.children.map(({ platform, children }: typeof json) => [platform, children.length]),
      [
        ['linux/amd64', 0],
        ['linux/arm64/v8', 0],
      ],
    )
    const host = new URL(platform.url).host
    const single = await tree([`${host}/acme/formats@${digestOf(one)}`, '-o', 'wide', '--depth', '0'])
    assert.match(
      single.stdout,
      new RegExp(
        `  manifest  linux/amd64  .*  ${digestOf(one)}  ${types.manifest.replaceAll(/[.+]/g, '\\$&')}\n$`,
      ),
    )
    const uids = await tree(['acme/formats:v1', '-o', 'uid', '--depth', '0'])
    assert.equal(uids.stdout, `${digestOf(index)}\n`)
    assert.match((await tree(['acme/formats:v1', '-o', 'yaml'])).stdout, /^kind: index\n/)
  })

  test('reports errors in one line, with an exit code', async () => {
    const cases: [args: string[], code: number, message: RegExp][] = [
      [['acme/app:missing'], 5, /^stemma: /],
      [['nobody/app'], 4, /^stemma: you may not do this with nobody\/app, or it does not exist\n$/],
      [
        ['other.example.com:5000/acme/app'],
        2,
        /is not in the registry 127\.0\.0\.1:\d+; name its server with --api\n$/,
      ],
      [['Acme/app'], 2, /is not the name of an image; expected one such as /],
      [['acme/app@sha256:abc'], 2, /is not the name of an image/],
      [[], 2, /stemma images tree needs IMAGE; see /],
      [['acme/app', '--depth', 'x'], 2, /--depth must be a whole number/],
    ]
    for (const [args, code, message] of cases) {
      const result = await tree(args)
      assert.deepEqual([result.code, result.stdout], [code, ''], args.join(' '))
      assert.match(result.stderr, message)
    }
    assert.equal((await tree(['acme/app'], platform.url, 'x')).code, 3)
    assert.equal((await tree(['acme/app'], 'http://127.0.0.1:1')).code, 7)
  })

  test('does not trust the server, which may send forged or endless content and control characters', async () => {
    const answers: Record<string, { body: string; link?: string }> = {}
    let requests = 0
    const server = createServer((request, response) => {
      requests += 1
      const { body = '{"manifests":[]}', link } = answers[request.url ?? ''] ?? {}
      response.writeHead(200, { 'content-type': types.index, ...(link && { link }) }).end(body)
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      const other = `sha256:${'0'.repeat(64)}`
      answers['/v2/acme/app/manifests/forged'] = { body: JSON.stringify({ manifests: [{ digest: other }] }) }
      const forged = await tree(['acme/app:forged'], api)
      assert.deepEqual(
        [forged.code, forged.stderr],
        [1, `stemma: the server sent content that does not match ${other}\n`],
      )
      const escapes = JSON.stringify({
        artifactType: '\x1b[2J\x9b',
        layers: [{ digest: other, size: 'x' }, 'y', null],
      })
      answers['/v2/acme/app/manifests/escapes'] = { body: escapes }
      const { stdout } = await tree(['acme/app:escapes'], api)
      assert.doesNotMatch(stdout, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/)
      assert.match(stdout, /└── layer {2}0 B {2}sha256:0{12}\n$/)
      answers['/v2/acme/app/manifests/large'] = { body: `{"x": "${'x'.repeat(9 * 2 ** 20)}"}` }
      assert.match((await tree(['acme/app:large'], api)).stderr, /sent more than 8388608 bytes/)
      const loop = `/v2/acme/app/referrers/${digestOf('{}')}`
      answers['/v2/acme/app/manifests/loop'] = { body: '{}' }
      answers[loop] = { body: '{}', link: `<${loop}>; rel="next"` }
      requests = 0
      assert.equal((await tree(['acme/app:loop'], api)).code, 0)
      assert.equal(requests, 22, 'the manifest, 20 pages of referrers, and the tags')
      const many = JSON.stringify({ manifests: Array(501).fill({ digest: digestOf('{}') }) })
      answers[`/v2/acme/app/manifests/${digestOf('{}')}`] = { body: '{}' }
      answers[loop] = { body: '{}' }
      answers['/v2/acme/app/manifests/many'] = { body: many }
      requests = 0
      assert.match(
        (await tree(['acme/app:many'], api)).stderr,
        /^stemma: the image has more than 500 manifests/,
      )
      assert.equal(requests, 1, 'the index alone')
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
