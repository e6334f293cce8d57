import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DescMessage } from '@bufbuild/protobuf'
import { StructSchema } from '@bufbuild/protobuf/wkt'
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
import { AdvisoryEventSchema } from '../gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import type { Schema, Schemas, Side } from './schema.ts'
import { answerSchema, fieldSchema, refTo } from './schema.ts'

type ObjectSchema = { properties: Record<string, Schema>; required?: string[] }

function schemaOf(desc: DescMessage, side: Side): ObjectSchema {
  const schemas: Schemas = new Map()
  const { $ref } = refTo(schemas, desc, side)
  return schemas.get(String($ref).split('/').at(-1) ?? '') as unknown as ObjectSchema
}

describe('the schema of a message', () => {
  test('has in an answer what is always there, and says what only the service sets', () => {
    const { properties, required } = schemaOf(GroupSchema, 'answer')
    assert.deepEqual(required, ['uid', 'name', 'description', 'resourceLimits', 'verified'])
    assert.equal(properties.uid?.readOnly, true)
    assert.equal(properties.name?.readOnly, undefined)
    assert.equal(properties.name?.pattern, undefined, 'rules bind what is sent')
  })

  test('has in a draft what can be sent, with its rules', () => {
    const { properties, required } = schemaOf(GroupSchema, 'draft')
    assert.deepEqual(Object.keys(properties), ['name', 'description', 'verified', 'kind'])
    assert.deepEqual(required, ['name'])
    const { pattern, maxLength } = properties.name ?? {}
    assert.deepEqual([pattern, maxLength], ['^(?:[a-z0-9 ._-]{1,})$', 255])
  })

  test('demands nothing of a change', () => {
    assert.equal(schemaOf(GroupSchema, 'change').required, undefined)
  })

  test('shows what is only ever sent to those who send, and nobody else', () => {
    assert.equal(schemaOf(IdentityProvider_OIDCSchema, 'draft').properties.clientSecret?.writeOnly, true)
    assert.equal(schemaOf(IdentityProvider_OIDCSchema, 'answer').properties.clientSecret, undefined)
  })

  test('leads to others by their names, on the same side', () => {
    const { properties } = schemaOf(IdentityProviderSchema, 'draft')
    assert.equal(properties.oidc?.$ref, '#/components/schemas/iam.v2beta1.IdentityProvider.OIDC.Draft')
  })
})

describe('the schema of a field', () => {
  const of = (field: Parameters<typeof fieldSchema>[1], side: Side = 'draft') => {
    const { description, ...schema } = fieldSchema(new Map(), field, side)
    return schema
  }

  test('is text where JSON has no better', () => {
    assert.deepEqual(of(ListGroupsResponseSchema.field.totalCount), { type: 'string', pattern: '^-?[0-9]+$' })
    assert.deepEqual(of(GroupSchema.field.createTime), { type: 'string', format: 'date-time' })
    assert.deepEqual(of(UpdateGroupRequestSchema.field.updateMask), { type: 'string' })
    assert.deepEqual(of(AdvisoryEventSchema.field.findings), { type: 'string', contentEncoding: 'base64' })
    assert.equal(of(GroupInviteSchema.field.ttl).type, 'string')
  })

  test('knows the bounds of numbers, lists and maps', () => {
    assert.deepEqual(of(ListGroupsRequestSchema.field.pageSize), {
      type: 'integer',
      format: 'int32',
      minimum: 0,
    })
    assert.equal(of(IdentityProvider_OIDCSchema.field.additionalScopes).maxItems, 50)
    assert.deepEqual(of(GroupSchema.field.resourceLimits, 'answer'), {
      ...{ type: 'object', additionalProperties: { type: 'integer', format: 'int32' } },
      readOnly: true,
    })
  })

  test('names the values of an enum', () => {
    const schemas: Schemas = new Map()
    fieldSchema(schemas, GroupSchema.field.kind, 'answer')
    const { enum: names } = schemas.get('iam.v2beta1.OrgKind') as { enum: string[] }
    assert.ok(names.includes('ORG_KIND_CUSTOMER'))
  })

  test('takes any JSON object for a Struct', () => {
    assert.deepEqual(answerSchema(new Map(), StructSchema), { type: 'object', additionalProperties: true })
  })
})
