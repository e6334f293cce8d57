import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescMessage } from '@bufbuild/protobuf'
import { StructSchema } from '@bufbuild/protobuf/wkt'
import { TailEventsRequestSchema } from '../gen/platform/events/v2beta1/event_pb.ts'
import { AccountAssociation_ChainguardSchema } from '../gen/platform/iam/v2beta1/account_association_pb.ts'
import { GroupInviteSchema } from '../gen/platform/iam/v2beta1/group_invite_pb.ts'
import {
  GroupSchema,
  ListGroupsRequestSchema,
  ListGroupsResponseSchema,
  UpdateGroupRequestSchema,
} from '../gen/platform/iam/v2beta1/group_pb.ts'
import {
  IdentityProvider_OIDCSchema,
  IdentityProviderSchema,
} from '../gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { CustomOverlaySchema } from '../gen/platform/registry/v2beta1/repo_pb.ts'
import { SetOrganizationLimitsRequestSchema } from '../gen/platform/server/v2beta1/organization_pb.ts'
import { AdvisoryEventSchema } from '../gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { Purpose, Schema, Schemas } from './schema.ts'
import { fieldSchema, refTo, responseSchema } from './schema.ts'

type ObjectSchema = { properties: Record<string, Schema>; required?: string[] }

function schemaOf(desc: DescMessage, purpose: Purpose): ObjectSchema {
  const schemas: Schemas = new Map()
  const { $ref } = refTo(schemas, desc, purpose)
  return schemas.get(String($ref).split('/').at(-1) ?? '') as unknown as ObjectSchema
}

describe('the schema of a message', () => {
  test('for a response requires the fields that are always returned, and marks output-only fields as read-only', () => {
    const { properties, required } = schemaOf(GroupSchema, 'response')
    assert.deepEqual(required, ['uid', 'name', 'description', 'resourceLimits', 'verified'])
    assert.equal(properties.uid?.readOnly, true)
    assert.equal(properties.name?.readOnly, undefined)
    assert.equal(properties.name?.pattern, undefined, 'rules apply to requests only')
  })

  test('for a create has the fields that can be set, with their rules', () => {
    const { properties, required } = schemaOf(GroupSchema, 'create')
    assert.deepEqual(Object.keys(properties), [
      'name',
      'description',
      'verified',
      'kind',
      'secondFactorRequired',
    ])
    assert.deepEqual(required, ['name'])
    const { pattern, maxLength } = properties.name ?? {}
    assert.deepEqual([pattern, maxLength], ['^(?:[a-z0-9 ._-]{1,})$', 255])
  })

  test('for an update requires no field', () => {
    assert.equal(schemaOf(GroupSchema, 'update').required, undefined)
  })

  test('has input-only fields only if it is for a request', () => {
    assert.equal(schemaOf(IdentityProvider_OIDCSchema, 'create').properties.clientSecret?.writeOnly, true)
    assert.equal(schemaOf(IdentityProvider_OIDCSchema, 'response').properties.clientSecret, undefined)
  })

  test('refers to the schema of an inner message for the same purpose', () => {
    const { properties } = schemaOf(IdentityProviderSchema, 'create')
    assert.equal(properties.oidc?.$ref, '#/components/schemas/iam.v2beta1.IdentityProvider.OIDC.Create')
  })
})

describe('the schema of a field', () => {
  const schemaFor = (field: Parameters<typeof fieldSchema>[1], purpose: Purpose = 'create') => {
    const { description, ...schema } = fieldSchema(new Map(), field, purpose)
    return schema
  }

  test('is a string for types that JSON does not have', () => {
    assert.deepEqual(schemaFor(ListGroupsResponseSchema.field.totalCount), {
      type: 'string',
      pattern: '^-?[0-9]+$',
    })
    assert.deepEqual(schemaFor(GroupSchema.field.createTime), { type: 'string', format: 'date-time' })
    assert.deepEqual(schemaFor(UpdateGroupRequestSchema.field.updateMask), { type: 'string' })
    assert.deepEqual(schemaFor(AdvisoryEventSchema.field.findings), {
      type: 'string',
      contentEncoding: 'base64',
    })
    assert.equal(schemaFor(GroupInviteSchema.field.ttl).type, 'string')
  })

  test('has the limits of numbers, lists and maps', () => {
    assert.deepEqual(schemaFor(ListGroupsRequestSchema.field.pageSize), {
      type: 'integer',
      format: 'int32',
      minimum: 0,
    })
    assert.deepEqual(schemaFor(TailEventsRequestSchema.field.afterSequence), {
      type: 'string',
      pattern: '^[0-9]+$',
    })
    assert.equal(schemaFor(IdentityProvider_OIDCSchema.field.additionalScopes).maxItems, 50)
    const { serviceBindings } = AccountAssociation_ChainguardSchema.field
    assert.equal(schemaFor(serviceBindings).minProperties, 1)
    assert.equal(schemaFor(serviceBindings, 'update').minProperties, undefined)
    assert.deepEqual(schemaFor(GroupSchema.field.resourceLimits, 'response'), {
      ...{ type: 'object', additionalProperties: { type: 'integer', format: 'int32' } },
      readOnly: true,
    })
  })

  test('applies the rules of strings to the keys of a map, and to its values if these are strings', () => {
    const { resourceLimits } = SetOrganizationLimitsRequestSchema.field
    assert.deepEqual(schemaFor(resourceLimits), {
      type: 'object',
      propertyNames: { maxLength: 64 },
      additionalProperties: { type: 'integer', format: 'int32' },
      maxProperties: 100,
    })
    assert.deepEqual(schemaFor(CustomOverlaySchema.field.environment), {
      type: 'object',
      propertyNames: { maxLength: 4096 },
      additionalProperties: { type: 'string', maxLength: 4096 },
      maxProperties: 200,
    })
  })

  test('lists the values of an enum', () => {
    const schemas: Schemas = new Map()
    fieldSchema(schemas, GroupSchema.field.kind, 'response')
    const { enum: names } = schemas.get('iam.v2beta1.OrgKind') as { enum: string[] }
    assert.ok(names.includes('ORG_KIND_CUSTOMER'))
  })

  test('allows any JSON object for a Struct', () => {
    assert.deepEqual(responseSchema(new Map(), StructSchema), { type: 'object', additionalProperties: true })
  })
})
