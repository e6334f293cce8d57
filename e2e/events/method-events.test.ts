// Events of methods that have event types of their own.
import assert from 'node:assert/strict'
import { Identities as V1Identities } from '@stemma/api/gen/platform/events/identity_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { cloudEventsOf } from '../../server/outgoing-events.ts'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { sealedEvents } from '../../server/testing/sealed-events.ts'
import { examples, make } from '../contract/examples.ts'

const { createIdentityProvider, generateScimToken, revokeScimToken } = IdentityProvidersService.method

examples('the events of SCIM tokens', {
  async 'show the responses without the token'(context) {
    const { owner, platform, door, succeed } = context
    const oidc = { issuer: 'https://accounts.example.com', clientId: 'id', clientSecret: 'very-secret' }
    const identityProviderUid = await make(context, createIdentityProvider, {
      parent: owner.organization,
      identityProvider: { name: 'sso', defaultRole: builtInRole('viewer').uid, oidc },
    })
    // Tokens differ, so this response cannot be compared between the doors.
    const { body } = await door.call(generateScimToken, { identityProviderUid }, owner.token)
    assert.ok(body?.token)
    await succeed(revokeScimToken, { identityProviderUid })
    const events = (await sealedEvents(platform.store, owner.organization))
      .flatMap((row) => cloudEventsOf(platform.config)(row) ?? [])
      .filter(({ attributes }) => attributes.type?.includes('scim'))
    assert.deepEqual(
      events.map(({ attributes }) => [attributes.type, attributes.bodytype, attributes.subject]),
      [
        ['scim_token.generated', 'GenerateScimTokenResponse'],
        ['scim_token.revoked', 'RevokeScimTokenResponse'],
      ].map(([type, message]) => [
        `dev.stemma.api.iam.identity_providers.${type}.v1`,
        `platform.iam.v2beta1.${message}`,
        identityProviderUid,
      ]),
    )
    assert.doesNotMatch(
      events.map(({ data }) => data).join(),
      new RegExp(`${String(body.token)}|very-secret`),
    )
  },
})

examples('the event of a change of identity metadata', {
  async 'shows the response, and is absent if nothing changes'({ owner, platform, succeed }) {
    const { identity, token } = await platform.addIdentity(owner.organization)
    const { updateIdentityMetadata } = IdentitiesService.method
    const change = { identityMetadata: { jobTitle: 'robot' } }
    const response = await succeed(updateIdentityMetadata, change, token)
    await succeed(updateIdentityMetadata, change, token)
    const optIn = { updatesOptIn: true }
    await succeed(V1Identities.method.updateMetadata, optIn, token)
    const events = (await sealedEvents(platform.store, owner.organization))
      .filter(({ actor }) => actor === identity)
      .map((row) => cloudEventsOf(platform.config)(row))
    assert.deepEqual(
      events.map((event) => [event?.attributes.type, event?.attributes.bodytype, event?.attributes.subject]),
      Array(2).fill([
        'dev.stemma.api.iam.identity.metadata.updated.v1',
        'platform.iam.v2beta1.IdentityMetadata',
        identity,
      ]),
    )
    assert.deepEqual(
      events.map((event) => JSON.parse(String(event?.data)).body),
      [response, { ...response, ...optIn }],
    )
  },
})
