// Requests of the registry protocol for the property test of CheckAccess, with the capabilities that they need.
import { randomBytes } from 'node:crypto'
import type { DescMethod } from '@bufbuild/protobuf'
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import { nameOf } from '../../server/policy/capabilities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import type { Caller } from '../../server/wire/caller.ts'
import { digestOf } from '../registry/oci-client.ts'
import type { World } from './world.ts'
import { groupName, parentOf, repoName } from './world.ts'

export type RegistryRequest = {
  method: string
  /** The rest of the path after the name of the repo, such as `/tags/list`. */
  path: string
  capabilities: readonly string[]
}

const requestOf = (desc: DescMethod, method: string, path: string): RegistryRequest => ({
  ...{ method, path },
  capabilities: (describeMethod(desc).access?.capabilities ?? []).map(nameOf),
})

const digest = digestOf('content that no repo has')
const notManifest = '{}'
const calls = Content.method

/** Pulls, pushes and deletes. None changes a tag or removes content: no repo has `digest` or a tag `latest`. */
export const registryRequests: readonly RegistryRequest[] = [
  requestOf(calls.getManifest, 'GET', '/manifests/latest'),
  requestOf(calls.getManifest, 'HEAD', `/manifests/${digest}`),
  requestOf(calls.getBlob, 'GET', `/blobs/${digest}`),
  requestOf(calls.getBlob, 'HEAD', `/blobs/${digest}`),
  requestOf(calls.listTagNames, 'GET', '/tags/list'),
  requestOf(calls.listReferrers, 'GET', `/referrers/${digest}`),
  requestOf(calls.beginUpload, 'POST', '/blobs/uploads/'),
  requestOf(calls.putManifest, 'PUT', `/manifests/${digestOf(notManifest)}`),
  requestOf(calls.deleteManifest, 'DELETE', `/manifests/${digest}`),
  requestOf(calls.deleteTagName, 'DELETE', '/manifests/latest'),
  requestOf(calls.deleteBlob, 'DELETE', `/blobs/${digest}`),
]

/** Names of repos by their uid, as clients write them. */
export function repoNames({ groups, repos }: World): Map<string, string> {
  const names = new Map<string, string>()
  for (const [at, uid] of groups.entries())
    names.set(uid, [names.get(parentOf(uid)) ?? [], groupName(at)].flat().join('/'))
  return new Map(repos.map((uid, at) => [uid, `${names.get(parentOf(uid))}/${repoName(at)}`]))
}

export type RegistryClient = {
  /** Whether the status of the response is not 403. `repo` is the name or uid of a repo. */
  isAllowed(caller: Caller, request: RegistryRequest, repo: string): Promise<boolean>
}

const allowedStatuses = [200, 202, 400, 404]

export function openRegistryClient({ keys, config, url }: Platform): RegistryClient {
  const signer = { keys, authUrl: config.authUrl, now: Date.now, random: randomBytes }
  const tokens = new Map<Caller, Promise<string>>()
  const mint = ({ identity, limits }: Caller) => {
    // Other calls of the test sign people out. Tokens of a sign-in in the future work nevertheless.
    const futureSignIn = { person: identity, signedInAt: Math.ceil(Date.now() / 1000) + 3600, id: '' }
    const signIn = parentOf(identity) === '' ? futureSignIn : undefined
    return mintToken(signer, { identity, audience: config.baseUrl, signIn, ...(limits && { limits }) })
  }
  return {
    async isAllowed(caller, { method, path }, repo) {
      const token = tokens.get(caller) ?? mint(caller)
      tokens.set(caller, token)
      const response = await fetch(`${url}/v2/${repo}${path}`, {
        method,
        headers: { authorization: `Bearer ${await token}` },
        ...(method === 'PUT' && { body: notManifest }),
      })
      const text = await response.text()
      if (response.status === 403) return false
      if (allowedStatuses.includes(response.status)) return true
      throw new Error(`${method} ${path} of ${repo} is answered with ${response.status}: ${text}`)
    },
  }
}
