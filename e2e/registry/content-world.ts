// Images in the repos of a random world. Their layers are few, so that several repos share them.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Drawn, World } from '../iam/world.ts'
import { anyIndex, groupName, oneIn, parentOf, pick, repoName, tagName } from '../iam/world.ts'
import type { OciClient } from './oci-client.ts'
import { descriptor, digestOf, types } from './oci-client.ts'

type StoredManifest = { content: string; subject: string | undefined; blobs: string[] }

/** Digests by tag, and manifests and blobs by digest. A tag can name a digest with no manifest. */
export type RepoContent = {
  tags: Map<string, string>
  manifests: Map<string, StoredManifest>
  blobs: Map<string, string>
}

/** The content of all repos, by the uid of the repo. */
export type ContentWorld = Map<string, RepoContent>

export const anyContent = fc.array(
  fc.record({ repo: anyIndex, layer: fc.nat({ max: 7 }), tag: fc.nat({ max: 2 }), hasSubject: oneIn(2) }),
  { minLength: 6, maxLength: 14, size: 'max' },
)

/** The path of a repo in the tree, as clients of the registry write it. */
export function pathOf({ groups, repos }: World, repo: string): string {
  const segments = repo.split('/')
  const above = segments.slice(0, -1).map((_, at) => groups.indexOf(segments.slice(0, at + 1).join('/')))
  return [...above.map(groupName), repoName(repos.indexOf(repo))].join('/')
}

export function initialContent({ repos, tags }: World): ContentWorld {
  const missing = `sha256:${'0'.repeat(64)}`
  return new Map(
    repos.map((repo) => [
      repo,
      {
        tags: new Map(
          tags.flatMap((uid, at) => (parentOf(uid) === repo ? [[tagName(at), missing] as const] : [])),
        ),
        manifests: new Map(),
        blobs: new Map(),
      },
    ]),
  )
}

/** A manifest with one layer. `label` makes it differ from other manifests. */
export const manifestOf = (config: string, layer: string, label: string, subject?: string): string =>
  JSON.stringify({
    ...{ schemaVersion: 2, mediaType: types.manifest, config: descriptor(config, types.config) },
    layers: [descriptor(layer)],
    ...(subject !== undefined && { subject: { mediaType: types.manifest, digest: subject, size: 1 } }),
    annotations: { label },
  })

export function addManifest(repo: RepoContent, content: string, blobs: string[], subject?: string): string {
  const digest = digestOf(content)
  repo.manifests.set(digest, { content, subject, blobs: blobs.map((blob) => digestOf(blob)) })
  return digest
}

/** Pushes the drawn images. A layer that another repo has is mounted, and a subject may be in another repo. */
export async function pushContent(
  client: OciClient,
  world: World,
  images: Drawn<typeof anyContent>,
  salt: number,
): Promise<ContentWorld> {
  const content = initialContent(world)
  const config = `{"salt":${salt}}`
  const [known, digests] = [new Set<string>(), [] as string[]]
  for (const [at, { repo: index, layer: number, tag, hasSubject }] of images.entries()) {
    const uid = pick(world.repos, index)
    if (uid === undefined) continue
    const repo = content.get(uid)
    assert.ok(repo)
    const layer = `layer ${number} of ${salt}`
    for (const blob of [config, layer]) {
      const digest = digestOf(blob)
      if (known.has(blob)) await client.expect(201, 'POST', `/v2/${uid}/blobs/uploads/?mount=${digest}`)
      else await client.pushBlob(uid, blob)
      known.add(blob)
      repo.blobs.set(digest, blob)
    }
    const subject = hasSubject ? pick(digests, index) : undefined
    const manifest = manifestOf(config, layer, `image ${at} of ${salt}`, subject)
    await client.pushManifest(uid, `v${tag}`, manifest)
    const digest = addManifest(repo, manifest, [config, layer], subject)
    repo.tags.set(`v${tag}`, digest)
    digests.push(digest)
  }
  return content
}
