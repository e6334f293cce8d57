// Organizations and their identity providers for sign-in tests, created over REST.
import assert from 'node:assert/strict'
import type { JsonObject } from '@bufbuild/protobuf'
import { verifyOrganization } from '@stemma/server/commands/verify.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import type { TestIdentity } from '@stemma/server/testing/identities.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { clientId, clientSecret } from './organization-provider.ts'

/** Returns the JSON of the response; fails on an error. */
export async function callRest(
  method: string,
  url: string,
  token: string,
  body?: JsonObject,
): Promise<JsonObject> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return text === '' ? {} : JSON.parse(text)
}

/** Adds an organization that is verified to own the domain, and returns its owner. */
export async function addVerifiedOrganization(platform: Platform, domain: string): Promise<TestIdentity> {
  const owner = await platform.addOrganization(domain)
  await verifyOrganization(platform.store, owner.organization, { isVerified: true, now: Date.now() })
  return owner
}

/** Adds an identity provider to a group, by default the organization of this owner, and returns its uid. */
export async function addIdentityProvider(
  { url }: Platform,
  { organization, token }: TestIdentity,
  oidc: JsonObject,
  group = organization,
): Promise<string> {
  const provider = await callRest('POST', `${url}/iam/v2beta1/identityProviders/${group}`, token, {
    name: 'sso',
    defaultRole: builtInRole('viewer').uid,
    oidc: { clientId, clientSecret, ...oidc },
  })
  return String(provider.uid)
}
