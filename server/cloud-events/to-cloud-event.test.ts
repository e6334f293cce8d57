import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf'
import { create, toBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { GroupSchema as V1GroupSchema } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { ExternalGroupRoleMappingSchema } from '@stemma/api/gen/platform/iam/v2beta1/external_group_role_mapping_pb.ts'
import { GroupInviteSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentityProviderSchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RepoSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagSchema } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { AdvisorySchema } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { services } from '@stemma/api/gen/services.ts'
import { openEventCatalog } from './event-catalog.ts'
import type { RecordedEvent } from './recorded-event.ts'
import { openCloudEvents } from './to-cloud-event.ts'

const kinds: Record<string, DescMessage> = {
  groups: GroupSchema,
  group_invites: GroupInviteSchema,
  identity_providers: IdentityProviderSchema,
  external_group_role_mappings: ExternalGroupRoleMappingSchema,
  repos: RepoSchema,
  tags: TagSchema,
  advisories: AdvisorySchema,
}
const groupToV1 = ({ uid, name }: { uid: string; name: string }) => create(V1GroupSchema, { id: uid, name })
const catalog = openEventCatalog(
  services,
  new Map(Object.entries(kinds)),
  new Map([[GroupSchema.typeName, { desc: V1GroupSchema, convert: groupToV1 }]]),
)
const settings = { catalog, vendorPrefixes: ['chainguard.'], baseUrl: 'https://api.test' }
const own = openCloudEvents({ ...settings, typePrefix: 'dev.stemma.' })
const compatible = openCloudEvents({ ...settings, typePrefix: 'dev.chainguard.' })

const root = 'a'.repeat(40)
const team = `${root}/00000000000000b1`
const person = 'c'.repeat(40)

const rowOf = (fields: Partial<RecordedEvent>): RecordedEvent => ({
  ...{ id: '019a', group: root, kind: 'groups', uid: team, action: 'created', code: 0, sequence: 7 },
  method: 'platform.iam.v2beta1.GroupsService.CreateGroup',
  ...{ actor: person, origin: '{"door":"rest"}', time: Date.UTC(2026, 0, 31, 9, 30, 0, 5) },
  ...{ details: null, after: null, ...fields },
})

const stored = <D extends DescMessage>(desc: D, init: MessageInitShape<D>) =>
  toBinary(desc, create(desc, init))

type Shown = { data: { actor?: unknown; body: object } } & Partial<
  Record<
    'type' | 'source' | 'subject' | 'group' | 'identityprovider' | 'bodytype' | 'digest' | 'mediatype',
    string
  >
>

/** The attributes, and the data as a value. */
function eventOf(fields: Partial<RecordedEvent>, make = own): Shown {
  const event = make(rowOf(fields))
  assert.ok(event)
  return { ...event.attributes, data: JSON.parse(event.data) }
}

describe('the CloudEvent of a change', () => {
  const after = stored(GroupSchema, { uid: team, name: 'team', description: 'é' })

  test('has the attributes of the contract, and a body with actor and resource', () => {
    assert.deepEqual(
      eventOf({ after, origin: '{"door":"rest","act":{"iss":"https://idp.test","sub":"1"}}' }),
      {
        specversion: '1.0',
        id: '019a',
        source: 'https://api.test/iam/v2beta1/groups',
        type: 'dev.stemma.api.iam.group.created.v1',
        subject: team,
        time: '2026-01-31T09:30:00.005Z',
        group: team,
        audience: 'customer',
        actor: person,
        bodytype: 'platform.iam.v2beta1.Group',
        sequence: '7',
        data: {
          actor: { subject: person, act: { iss: 'https://idp.test', sub: '1' } },
          body: { uid: team, name: 'team', description: 'é' },
        },
      },
    )
  })

  test('has the type of its kind and action', () => {
    const types = [
      { kind: 'groups', action: 'updated', type: 'api.iam.group.updated.v1' },
      { kind: 'identity_providers', action: 'deleted', type: 'api.iam.identity_providers.deleted.v1' },
      { kind: 'repos', action: 'created', type: 'api.platform.registry.repo.created.v1' },
      { kind: 'advisories', action: 'deleted', type: 'api.vulnerabilities.advisory.deleted.v1' },
    ]
    for (const { kind, action, type } of types)
      assert.equal(eventOf({ kind, action, after: new Uint8Array() }).type, `dev.stemma.${type}`)
  })

  test('has the request as its body if the resource was deleted', () => {
    const deletion = { action: 'deleted' }
    const method = 'platform.iam.v2beta1.GroupsService.DeleteGroup'
    const v2 = eventOf({ ...deletion, method })
    assert.deepEqual([v2.bodytype, v2.data.body], ['platform.iam.v2beta1.DeleteGroupRequest', { uid: team }])
    const v1 = eventOf({ ...deletion, method: 'platform.iam.Groups.Delete' })
    assert.deepEqual([v1.bodytype, v1.data.body], ['platform.iam.DeleteGroupRequest', { id: team }])
    assert.equal(v1.type, v2.type)
  })

  test('shows the message of v1 to a receiver if the caller used v1', () => {
    const event = eventOf({ after, method: 'platform.iam.Groups.Create' })
    assert.equal(event.bodytype, 'platform.iam.Group')
    assert.equal(event.source, 'https://api.test/iam/v1/groups')
    assert.equal((event.data.body as { id: string }).id, team)
  })

  test('has the group that published receivers expect', () => {
    const child = `${team}/00000000000000d1`
    const groupOf = (kind: string, action: string, uid: string, group: string) =>
      eventOf({ kind, action, uid, group, after: new Uint8Array() }).group
    assert.equal(groupOf('groups', 'updated', team, root), team)
    assert.equal(groupOf('groups', 'deleted', team, root), root)
    assert.equal(groupOf('groups', 'deleted', root, root), root, 'an organization has no parent')
    assert.equal(groupOf('repos', 'created', child, team), team)
    assert.equal(groupOf('tags', 'created', child, team), root)
    const mapping = eventOf({ kind: 'external_group_role_mappings', uid: child, after: new Uint8Array() })
    assert.deepEqual([mapping.group, mapping.identityprovider], [root, team])
  })

  test('names no actor if the operator or the server changed the resource', () => {
    const event = eventOf({ after, actor: '', method: 'stemmad bootstrap' })
    assert.equal('actor' in event || 'actor' in event.data, false)
    assert.equal(event.source, 'https://api.test')
  })

  test('does not exist for a refused call, or for a kind without event types', () => {
    assert.equal(own(rowOf({ after, code: 7 })), undefined)
    assert.equal(own(rowOf({ kind: 'people', action: 'created' })), undefined)
  })
})

describe('the body of an event', () => {
  test('shows only the uid and expiration of an invite', () => {
    const expirationTime = timestampFromMs(0)
    const invite = { uid: `${team}/1`, keyId: 'k', roleUid: 'r', email: 'ada@example.com', code: 'secret' }
    const after = stored(GroupInviteSchema, { ...invite, expirationTime })
    const event = eventOf({ kind: 'group_invites', after })
    assert.deepEqual(event.data.body, { uid: `${team}/1`, expirationTime: '1970-01-01T00:00:00Z' })
  })

  test('contains no secret, even if one was recorded', () => {
    const oidc = { issuer: 'https://idp.test', clientId: 'stemma', clientSecret: 'hunter2' }
    const after = stored(IdentityProviderSchema, {
      name: 'idp',
      configuration: { case: 'oidc', value: oidc },
    })
    const event = own(rowOf({ kind: 'identity_providers', after }))
    assert.match(event?.data ?? '', /"clientId":"stemma"/)
    assert.doesNotMatch(event?.data ?? '', /hunter2|clientSecret/)
  })

  test('has the type names of the vendor, and no fields that Stemma added, if the type prefix is that of a vendor', () => {
    // The media type is a field that Stemma has added.
    const after = stored(TagSchema, {
      uid: `${team}/1`,
      name: 'latest',
      mediaType: 'application/vnd.oci.image.index.v1+json',
    })
    const row = { kind: 'tags', uid: `${team}/1`, after }
    const event = eventOf(row, compatible)
    assert.equal(event.type, 'dev.chainguard.api.platform.registry.tag.created.v1')
    assert.equal(event.bodytype, 'chainguard.platform.registry.v2beta1.Tag')
    assert.deepEqual(event.data.body, { uid: `${team}/1`, name: 'latest' })
  })
})

describe('the CloudEvent of an accepted invite', () => {
  test('names the person and the group', () => {
    const details = JSON.stringify({ identity: person, role: 'r' })
    const accepted = { kind: 'group_invites', action: 'accepted', actor: '', method: 'sign-in', details }
    const event = eventOf({ ...accepted, group: team })
    assert.equal(event.type, 'dev.stemma.api.auth.registered.v1')
    assert.equal(event.bodytype, 'platform.auth.Session')
    assert.deepEqual(event.data, { actor: { subject: person }, body: { identity: person, group: team } })
  })
})

describe('the CloudEvent of a sign-in', () => {
  test('names the person and the authentication method', () => {
    const details = JSON.stringify({ by: 'pwd' })
    const event = eventOf({
      kind: 'identities',
      action: 'signed-in',
      uid: person,
      method: 'sign-in',
      details,
    })
    assert.equal(event.type, 'dev.stemma.api.auth.signed_in.v1')
    assert.deepEqual(event.data.body, { identity: person, by: 'pwd' })
  })
})

describe('the CloudEvent of an issued token', () => {
  test('names the identity', () => {
    const method = 'platform.oidc.SecurityTokenService.Exchange'
    const event = eventOf({ kind: 'identities', action: 'exchanged', uid: person, method })
    assert.equal(event.type, 'dev.stemma.api.auth.token.exchanged.v1')
    assert.deepEqual([event.bodytype, event.data.body], [undefined, { identity: person }])
    const refused = { kind: 'identities', action: 'refused', code: 7, method }
    assert.equal(own(rowOf(refused)), undefined)
  })
})

describe('the CloudEvent of a change by an identity provider', () => {
  test('names the provider and the user', () => {
    const details = JSON.stringify({ identityProvider: team, id: '1' })
    const change = { kind: 'scim_users', action: 'deleted', actor: '', method: 'SCIM DELETE Users', details }
    const event = eventOf(change)
    assert.equal(event.type, 'dev.stemma.api.iam.scim_user.deleted.v1')
    assert.equal(event.source, 'https://api.test')
    assert.deepEqual(event.data, { body: { identityProvider: team, id: '1' } })
  })
})

describe('the CloudEvent of a method with its own event type', () => {
  const kind = 'identity_providers'
  const method = 'platform.iam.IdentityProviders.GenerateScimToken'

  test('names the v2 response as the type of its body if the body is that response', () => {
    const details = JSON.stringify({
      identityProviderUid: team,
      endpointUrl: 'https://api.test/scim',
      etag: '1',
    })
    const event = eventOf({ kind, method, action: 'scim-token-generated', details })
    assert.equal(event.type, 'dev.stemma.api.iam.identity_providers.scim_token.generated.v1')
    assert.equal(event.bodytype, 'platform.iam.v2beta1.GenerateScimTokenResponse')
    assert.deepEqual(event.data.body, JSON.parse(details))
  })

  test('names no type if the body is not that response', () => {
    const event = eventOf({ kind, method, action: 'scim-token-generated', details: '{"issuer":"x"}' })
    assert.equal(event.bodytype, undefined)
  })
})

describe('the CloudEvent of the registry', () => {
  const origin = '{"door":"oci","address":"192.0.2.1","userAgent":"docker/27"}'
  const digest = `sha256:${'0'.repeat(64)}`
  const common = { repo_id: team, digest, when: '2026-01-31T09:30:00.005000', location: '' }
  const client = { remote_address: '192.0.2.1', user_agent: 'docker/27' }

  test('describes a pull', () => {
    const details = { repository: 'acme/web', tag: 'latest', digest, method: 'HEAD', type: 'manifest' }
    const event = eventOf({ kind: 'repos', action: 'pulled', origin, details: JSON.stringify(details) })
    assert.equal(event.type, 'dev.stemma.registry.pull.v1')
    assert.deepEqual([event.source, event.subject, event.group], ['api.test', team, root])
    assert.deepEqual(event.data.body, {
      ...{ repository: 'acme/web', tag: 'latest', method: 'HEAD', type: 'manifest', ...common, ...client },
    })
  })

  test('describes a pull that failed', () => {
    const error = { errorStatus: 404, errorCode: 'MANIFEST_UNKNOWN', errorMessage: 'no such tag' }
    const details = {
      repository: 'acme/web',
      tag: 'old',
      digest: '',
      method: 'GET',
      type: 'manifest',
      ...error,
    }
    const event = eventOf({
      kind: 'repos',
      action: 'pulled',
      code: 5,
      origin,
      details: JSON.stringify(details),
    })
    assert.deepEqual((event.data.body as { error?: object }).error, {
      ...{ status: 404, code: 'MANIFEST_UNKNOWN', message: 'no such tag' },
    })
  })

  test('describes a push with the digest that the tag had before', () => {
    const mediaType = 'application/vnd.oci.image.manifest.v1+json'
    const details = {
      ...{ repository: 'acme/web', displayName: 'web', tag: 'latest', previousDigest: 'sha256:1', digest },
      ...{ mediaType, type: 'manifest' },
    }
    const event = eventOf({ kind: 'repos', action: 'pushed', origin, details: JSON.stringify(details) })
    assert.equal(event.type, 'dev.stemma.registry.push.v1')
    assert.deepEqual([event.digest, event.mediatype], [`api.test/acme/web@${digest}`, mediaType])
    assert.deepEqual(event.data.body, {
      ...{ repository: 'acme/web', display_name: 'web', tag: 'latest', tag_previous_digest: 'sha256:1' },
      ...{ type: 'manifest', ...common, ...client },
    })
  })
})
