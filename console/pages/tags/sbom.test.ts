import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Descriptor } from '../../api/registry.ts'
import { artifactKindOf } from './artifact-kind.ts'
import { imageConfigOf, shellText, stepsOf } from './image.ts'
import { sbomOf } from './sbom.ts'

const spdx = {
  spdxVersion: 'SPDX-2.3',
  packages: [
    { name: 'zlib', versionInfo: '1.3', licenseConcluded: 'NOASSERTION', licenseDeclared: 'Zlib' },
    {
      ...{ name: 'curl', versionInfo: '8.1' },
      externalRefs: [{ referenceType: 'purl', referenceLocator: 'pkg:apk/wolfi/curl@8.1' }],
    },
  ],
}
const packages = [
  { name: 'curl', version: '8.1', license: '', type: 'apk' },
  { name: 'zlib', version: '1.3', license: 'Zlib', type: '' },
]
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

test('an SBOM is found plain and inside signed statements', () => {
  const statement = { predicateType: 'https://spdx.dev/Document', predicate: spdx }
  const envelope = { payloadType: 'application/vnd.in-toto+json', payload: encode(statement) }
  const forms = [spdx, statement, envelope, { dsseEnvelope: envelope }]
  const text = JSON.stringify(spdx)
  for (const form of [...forms, { predicate: text }, { predicate: { Data: text } }])
    assert.deepEqual(sbomOf(form), { format: 'SPDX 2.3', packages })
})

test('CycloneDX and Syft are read as well', () => {
  const components = [
    { name: 'lodash', version: '4', purl: 'pkg:npm/lodash@4', licenses: [{ license: { id: 'MIT' } }] },
  ]
  const artifacts = [{ name: 'lodash', version: '4', type: 'npm', licenses: [{ value: 'MIT' }] }]
  const expected = [{ name: 'lodash', version: '4', license: 'MIT', type: 'npm' }]
  assert.deepEqual(sbomOf({ bomFormat: 'CycloneDX', specVersion: '1.6', components })?.packages, expected)
  assert.deepEqual(sbomOf({ artifacts, descriptor: { name: 'syft' } })?.packages, expected)
})

test('other content is not read as an SBOM, and entries of unexpected types are left out', () => {
  let deep: unknown = spdx
  for (let level = 0; level < 20; level++) deep = { predicate: deep }
  for (const value of [null, 7, 'text', [], {}, { payload: '%%%' }, { payload: encode('[') }, deep])
    assert.equal(sbomOf(value), undefined)
  assert.deepEqual(sbomOf({ spdxVersion: 'SPDX-2.3', packages: [null, 1, { name: 2 }] })?.packages, [])
})

test('the configuration of an image may have any form', () => {
  const config = imageConfigOf({
    ...{ os: 'linux', architecture: 'arm64', created: 5, history: 'none' },
    config: { Env: ['A=b=c', 1], Labels: { x: 1 }, Entrypoint: null, ExposedPorts: ['80'] },
  })
  assert.equal(config.platform, 'linux/arm64')
  assert.deepEqual(config.env, [
    ['A', 'b=c'],
    ['', ''],
  ])
  assert.deepEqual([config.labels, config.history, config.ports, config.created], [[['x', '']], [], [], ''])
})

test('each step of the build has its layer, unless the history does not match the layers', () => {
  const layers = [{ digest: 'sha256:a' }, { digest: 'sha256:b' }]
  const step = (command: string, isEmpty = false) => ({ command, created: '', isEmpty })
  assert.deepEqual(
    stepsOf(layers, [step('/bin/sh -c #(nop)  ADD file'), step('ENV A=b', true), step('/bin/sh -c make')]),
    [
      { command: 'ADD file', layer: layers[0] },
      { command: 'ENV A=b' },
      { command: 'RUN make', layer: layers[1] },
    ],
  )
  assert.deepEqual(
    stepsOf(layers, [step('one')]).map(({ layer }) => layer),
    layers,
  )
})

test('the kind of an artifact is found, whatever its fields are', () => {
  const descriptor = (fields: object) => ({ digest: 'sha256:a', ...fields }) as Descriptor
  const kinds = [
    { artifactType: 'application/vnd.dev.cosign.artifact.sig.v1+json' },
    { mediaType: 'application/vnd.cyclonedx+json', annotations: null },
    { annotations: { 'in-toto.io/predicate-type': 'https://spdx.dev/Document' } },
    { annotations: { 'dev.sigstore.bundle.predicateType': 'https://example.com/tests' } },
    { artifactType: { spdx: 1 }, annotations: 'none' },
  ].map((fields) => artifactKindOf(descriptor(fields)))
  assert.deepEqual(kinds, ['Signature', 'SBOM', 'SBOM', 'Attestation', 'Artifact'])
})

test('a command is shown as one would type it', () => {
  assert.equal(shellText(['/bin/sh', '-c', "echo 'hi there'"]), `/bin/sh -c 'echo '\\''hi there'\\'''`)
})
