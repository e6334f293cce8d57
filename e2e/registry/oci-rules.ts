// The operations of the registry in a random world, and the rules of the specification for each: the capabilities that
// it needs, how it is answered, and how it changes the world. Written by hand, so that the test does not depend on the
// code that it tests.
import type { RepoContent } from './content-world.ts'
import { addManifest, manifestOf } from './content-world.ts'
import type { OciClient } from './oci-client.ts'
import { digestOf, types } from './oci-client.ts'

/** The arguments of an operation. `blob` and `config` are contents, `manifest` is a digest. */
export type Target = {
  /** The name or the uid of the repo. */
  name: string
  blob: string
  config: string
  manifest: string
  tag: string
  /** The name or the uid of a repo to mount from. */
  source: string | undefined
}

type Answer = { status: number; body?: string; apply?(): void }

export type Operation = {
  capabilities: readonly string[]
  send(client: OciClient, target: Target): Promise<Response>
  /**
   * The answer to a caller with these capabilities, if the repo exists. `mayMount`: the caller may
   * read the blob in the source, or in any repo if there is no source.
   */
  answer(repo: RepoContent, target: Target, mayMount: boolean): Answer
  /** True if the answer must not reveal that the blob or the manifest exists in another repo. */
  isBlind(repo: RepoContent, target: Target, mayMount: boolean): boolean
  /** The answer if there is no such repo. Default: 404. */
  withoutRepo?: Answer
  isPush?: boolean
  /** Whether everybody may do it in a public repo. */
  isPull?: boolean
}

const pull = ['manifest.list', 'tag.list']
const push = ['manifest.create']

const blobPath = ({ name, blob }: Target) => `/v2/${name}/blobs/${digestOf(blob)}`
const hasBlob = (repo: RepoContent, { blob }: Target) => repo.blobs.has(digestOf(blob))
const lacksBlob = (repo: RepoContent, target: Target) => !hasBlob(repo, target)

const readManifest = (method: 'GET' | 'HEAD'): Operation => ({
  capabilities: pull,
  send: (client, { name, manifest }) => client.send(method, `/v2/${name}/manifests/${manifest}`),
  answer(repo, { manifest }) {
    const found = repo.manifests.get(manifest)
    return found ? { status: 200, body: method === 'GET' ? found.content : '' } : { status: 404 }
  },
  isBlind: (repo, { manifest }) => !repo.manifests.has(manifest),
  isPull: true,
})

const readTag = (method: 'GET' | 'HEAD'): Operation => ({
  capabilities: pull,
  send: (client, { name, tag }) => client.send(method, `/v2/${name}/manifests/${tag}`),
  answer(repo, { tag }) {
    const found = repo.manifests.get(repo.tags.get(tag) ?? '')
    return found ? { status: 200, body: method === 'GET' ? found.content : '' } : { status: 404 }
  },
  isBlind: () => false,
  isPull: true,
})

const readBlob = (
  init: RequestInit & { method: string },
  status: number,
  part: [number, number?],
): Operation => ({
  capabilities: ['repo.blobs.get'],
  send: (client, target) => client.send(init.method, blobPath(target), init),
  answer: (repo, target) =>
    hasBlob(repo, target) ? { status, body: target.blob.slice(...part) } : { status: 404 },
  isBlind: lacksBlob,
  isPull: true,
})

export const operations = {
  listTags: {
    capabilities: ['tag.list'],
    send: (client, { name }) => client.send('GET', `/v2/${name}/tags/list`),
    answer: (repo, { name }) => ({
      ...{ status: 200, body: JSON.stringify({ name, tags: [...repo.tags.keys()].sort() }) },
    }),
    isBlind: () => false,
    isPull: true,
  },
  getManifest: readManifest('GET'),
  headManifest: readManifest('HEAD'),
  getTag: readTag('GET'),
  headTag: readTag('HEAD'),
  getBlob: readBlob({ method: 'GET' }, 200, [0]),
  headBlob: readBlob({ method: 'HEAD' }, 200, [0, 0]),
  getRange: readBlob({ method: 'GET', headers: { range: 'bytes=2-5' } }, 206, [2, 6]),
  listReferrers: {
    capabilities: ['referrers.list'],
    send: (client, { name, manifest }) => client.send('GET', `/v2/${name}/referrers/${manifest}`),
    answer: (repo, { manifest }) => ({ status: 200, body: referrersOf(repo, manifest) }),
    isBlind: (repo, { manifest }) => referrersOf(repo, manifest) === noReferrers,
    isPull: true,
    get withoutRepo() {
      return { status: 200, body: noReferrers }
    },
  },
  mount: {
    capabilities: push,
    send: (client, { name, blob, source }) =>
      client.send(
        'POST',
        `/v2/${name}/blobs/uploads/?mount=${digestOf(blob)}${source === undefined ? '' : `&from=${source}`}`,
      ),
    answer: (repo, { blob }, mayMount) =>
      mayMount ? { status: 201, apply: () => repo.blobs.set(digestOf(blob), blob) } : { status: 202 },
    isBlind: (_repo, _target, mayMount) => !mayMount,
    isPush: true,
  },
  /** Tries to store other content under the digest of a blob. */
  claim: {
    capabilities: push,
    async send(client, { name, blob }) {
      const begun = await client.send('POST', `/v2/${name}/blobs/uploads/`)
      if (begun.status !== 202) return begun
      await begun.text()
      const location = begun.headers.get('location') ?? ''
      return client.send('PUT', `${location}?digest=${digestOf(blob)}`, { body: 'other content' })
    },
    answer: () => ({ status: 400 }),
    isBlind: () => true,
    isPush: true,
  },
  /** Pushes the content of a blob, which other repos may have. */
  pushBlob: {
    capabilities: push,
    send: (client, { name, blob }) =>
      client.send('POST', `/v2/${name}/blobs/uploads/?digest=${digestOf(blob)}`, { body: blob }),
    answer: (repo, { blob }) => ({ status: 201, apply: () => repo.blobs.set(digestOf(blob), blob) }),
    isBlind: () => true,
    isPush: true,
  },
  /** Pushes a manifest. The repo possibly lacks its blobs. */
  pushManifest: {
    capabilities: push,
    send: (client, { name, blob, config }) => {
      const body = manifestOf(config, blob, 'pushed')
      const init = { body, headers: { 'content-type': types.manifest } }
      return client.send('PUT', `/v2/${name}/manifests/${digestOf(body)}`, init)
    },
    answer: (repo, { blob, config }) =>
      [blob, config].every((part) => repo.blobs.has(digestOf(part)))
        ? { status: 201, apply: () => addManifest(repo, manifestOf(config, blob, 'pushed'), [config, blob]) }
        : { status: 404 },
    // The test sends the request again with an invented blob and the same config, and compares the answers. If the blob
    // is also the config, they differ: the first error names one missing digest, the second error names two.
    isBlind: (repo, target) => lacksBlob(repo, target) && target.blob !== target.config,
    isPush: true,
  },
  deleteBlob: {
    capabilities: ['manifest.delete'],
    send: (client, target) => client.send('DELETE', blobPath(target)),
    answer(repo, target) {
      const digest = digestOf(target.blob)
      if (lacksBlob(repo, target)) return { status: 404 }
      if ([...repo.manifests.values()].some(({ blobs }) => blobs.includes(digest))) return { status: 405 }
      return { status: 202, apply: () => repo.blobs.delete(digest) }
    },
    isBlind: lacksBlob,
  },
} satisfies Record<string, Operation>

function referrersOf({ manifests }: RepoContent, subject: string): string {
  const referrers = [...manifests].filter(([, manifest]) => manifest.subject === subject).sort()
  return JSON.stringify({
    ...{ schemaVersion: 2, mediaType: types.index },
    manifests: referrers.map(([digest, { content }]) => ({
      ...{ mediaType: types.manifest, digest, size: content.length, artifactType: types.config },
      annotations: JSON.parse(content).annotations,
    })),
  })
}

const noReferrers = JSON.stringify({ schemaVersion: 2, mediaType: types.index, manifests: [] })
