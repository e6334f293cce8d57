// An identity provider with provisioning turned on, and a client of its SCIM endpoints.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import type { TestIdentity } from '@stemma/server/testing/identities.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { addIdentityProvider, callRest } from '../sign-in/organizations.ts'

export type ScimResult = {
  status: number
  body: JsonObject
  etag: string
  header(name: string): string | null
}

export type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<ScimResult>

export type ScimProvider = {
  uid: string
  token: string
  owner: TestIdentity
  /** The URL of the endpoints at the address where the server listens. */
  endpoint: string
  send: Send
  /** Like `send`, and requires a status. */
  expect(status: number, ...request: Parameters<Send>): Promise<JsonObject>
}

/** Sends a request to a SCIM endpoint. */
export const senderTo =
  (endpoint: string, token: string | undefined): Send =>
  async (method, path, body, headers = {}) => {
    const response = await fetch(endpoint + path, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/scim+json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      body: text === '' ? {} : JSON.parse(text),
      etag: response.headers.get('etag') ?? '',
      header: (name) => response.headers.get(name),
    }
  }

/** Adds an owner, because provisioning needs two. */
export async function addSecondOwner(platform: Platform, { organization }: TestIdentity): Promise<void> {
  const { identity } = await platform.addIdentity(organization)
  await platform.bind(identity, 'owner', organization)
}

export async function addScimProvider(
  platform: Platform,
  owner: TestIdentity,
  oidc: JsonObject = { issuer: 'https://login.acme.example' },
  group?: string,
): Promise<ScimProvider> {
  const uid = await addIdentityProvider(platform, owner, oidc, group)
  return enableScim(platform, owner, uid)
}

/** Creates the token of a provider and turns provisioning on. */
export async function enableScim(
  platform: Platform,
  owner: TestIdentity,
  uid: string,
): Promise<ScimProvider> {
  await addSecondOwner(platform, owner)
  const call = (action: string, body: JsonObject) =>
    callRest('POST', `${platform.url}/iam/v2beta1/identityProviders/${uid}:${action}`, owner.token, body)
  const { token, etag } = (await call('generateScimToken', {})) as { token: string; etag: string }
  await call('setScimEnabled', { enabled: true, etag })
  const endpoint = `${platform.url}/scim/v2/${uid}`
  const send = senderTo(endpoint, token)
  return {
    ...{ uid, token, owner, endpoint, send },
    async expect(status, ...request) {
      const result = await send(...request)
      assert.equal(result.status, status, `${request[0]} ${request[1]}: ${JSON.stringify(result.body)}`)
      return result.body
    },
  }
}
