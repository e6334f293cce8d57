// An image for two platforms with a signature and an SBOM, pushed as registry clients do.
import type { OciClient } from '../registry/oci-client.ts'
import { descriptor, digestOf, indexOf, pushParts, types } from '../registry/oci-client.ts'

export const configOf = (architecture: string) =>
  JSON.stringify({
    ...{ os: 'linux', architecture, created: '2026-01-31T12:00:00Z' },
    config: {
      ...{ User: 'web', Entrypoint: ['/usr/bin/app'], Cmd: ['serve', 'two words'] },
      ...{ Env: ['LANG=C.UTF-8'], Labels: { maintainer: 'acme' } },
    },
    history: [
      { created_by: '/bin/sh -c #(nop) ADD file:1 in /' },
      { created_by: 'ENV LANG=C.UTF-8', empty_layer: true },
      { created_by: 'RUN /bin/sh -c make # buildkit' },
    ],
  })

const packages = Array.from({ length: 300 }, (_, at) => ({ name: `package-${at}`, versionInfo: `1.${at}` }))
const sbom = JSON.stringify({ spdxVersion: 'SPDX-2.3', packages })

/** Returns the digest of the index. */
export async function pushWholeImage(client: OciClient, repo: string, tag: string): Promise<string> {
  const image = (architecture: string) =>
    pushParts(client, repo, '', {
      ...{ config: configOf(architecture), layers: ['base '.repeat(1000), architecture] },
    })
  const [intel, arm] = [await image('amd64'), await image('arm64')]
  const index = indexOf([
    { manifest: intel, platform: { os: 'linux', architecture: 'amd64' } },
    { manifest: arm, platform: { os: 'linux', architecture: 'arm64' } },
  ])
  await client.pushManifest(repo, tag, index, types.index)
  await client.pushBlob(repo, '{}')
  const subject = descriptor(index, types.index)
  for (const [artifactType, content] of [
    ['application/spdx+json', sbom],
    ['application/vnd.dev.cosign.artifact.sig.v1+json', 'signature'],
  ] as const) {
    await client.pushBlob(repo, content)
    const config = descriptor('{}', 'application/vnd.oci.empty.v1+json')
    const layers = [descriptor(content, artifactType)]
    const manifest = JSON.stringify({
      ...{ schemaVersion: 2, mediaType: types.manifest, artifactType, config, layers, subject },
      annotations: { 'org.opencontainers.image.created': 'not a time' },
    })
    await client.pushManifest(repo, digestOf(manifest), manifest)
  }
  return digestOf(index)
}
