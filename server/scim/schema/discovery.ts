// The discovery endpoints: the features of the server, the types of resources and their schemas (RFC 7644 section 4).
import { maxPageSize } from '../limits.ts'
import { groupType } from './group.ts'
import type { ResourceType, Schema } from './schema.ts'
import { userType } from './user.ts'

export const resourceTypes: readonly ResourceType[] = [userType, groupType]

const schemas: readonly Schema[] = resourceTypes.flatMap(({ schema, extensions }) => [schema, ...extensions])

const schemaUrn = (name: string) => `urn:ietf:params:scim:schemas:core:2.0:${name}`

export const serviceProviderConfig = (base: string) => ({
  schemas: [schemaUrn('ServiceProviderConfig')],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: maxPageSize },
  changePassword: { supported: false },
  sort: { supported: true },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'SCIM token',
      description: 'The token of the identity provider in the header Authorization: Bearer.',
      specUri: 'https://www.rfc-editor.org/rfc/rfc6750',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
})

export const describeTypes = (base: string) =>
  resourceTypes.map(({ name, description, endpoint, schema, extensions }) => ({
    schemas: [schemaUrn('ResourceType')],
    ...{ id: name, name, description, endpoint: `/${endpoint}`, schema: schema.id },
    ...(extensions.length > 0 && {
      schemaExtensions: extensions.map(({ id }) => ({ schema: id, required: false })),
    }),
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }))

export const describeSchemas = (base: string) =>
  schemas.map(({ id, name, description, attributes }) => ({
    schemas: [schemaUrn('Schema')],
    ...{ id, name, description, attributes },
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  }))
