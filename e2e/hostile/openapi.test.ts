// A client that follows the OpenAPI document is not refused because of a rule that the document does not mention.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { bodyExample } from '@stemma/api/reference/examples.ts'
import { makeOpenApi } from '@stemma/api/reference/openapi.ts'
import { describeServices } from '@stemma/api/reference/operations.ts'
import type { Schema } from '@stemma/api/reference/schema.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { newChildUid } from '../../server/aip/uid.ts'

import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

const document = makeOpenApi('http://stemma.test')
const { schemas } = document.components as unknown as { schemas: Record<string, Schema> }
const operations = describeServices().flatMap((service) => service.operations)

type Parameter = { name: string; in: string; example?: string; schema?: Schema; required?: boolean }
type OperationObject = JsonObject & { operationId: string }
const operationObjects = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([verb, operation]) => ({ path, verb, ...(operation as OperationObject) })),
)
const objectOf = (id: string) => {
  const found = operationObjects.find(({ operationId }) => operationId === id)
  assert.ok(found, id)
  return found
}

const resolve = (schema: Schema): Schema =>
  typeof schema.$ref === 'string' ? (schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}) : schema

const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)
ajv.addSchema({ $id: 'https://stemma.test/openapi', ...document })
const isValid = (name: string, value: unknown) =>
  ajv.validate({ $ref: `https://stemma.test/openapi#/components/schemas/${encodeURIComponent(name)}` }, value)

/** The required fields of an example, including one field of each oneof that requires one. */
function requiredPartOf(example: JsonValue, schema: Schema): JsonValue {
  const {
    required: names = [],
    properties = {},
    items,
    not,
  } = resolve(schema) as {
    required?: string[]
    properties?: Record<string, Schema>
    items?: Schema
    not?: { anyOf: { not?: { anyOf: { required: string[] }[] } }[] }
  }
  if (Array.isArray(example)) return example.map((element) => requiredPartOf(element, items ?? {}))
  if (typeof example !== 'object' || example === null) return example
  const choices = (not?.anyOf ?? []).flatMap(({ not: oneof }) =>
    (oneof?.anyOf ?? [])
      .flatMap((choice) => choice.required)
      .filter((name) => name in example)
      .slice(0, 1),
  )
  return Object.fromEntries(
    [...names, ...choices].map((name) => [
      name,
      requiredPartOf(example[name] as JsonValue, properties[name] ?? {}),
    ]),
  )
}

describe('the OpenAPI document', () => {
  test('says for each oneof whether at most one or exactly one of its fields must be set', () => {
    const claimMatch = { issuer: 'https://a.test', subject: 'b' }
    const identity = { name: 'a', claimMatch }
    assert.ok(isValid('iam.v2beta1.Identity.Create', identity))
    for (const wrong of [
      { name: 'a' },
      { ...identity, servicePrincipal: 'SERVICE_PRINCIPAL_INGESTER' },
      { name: 'a', claimMatch: { subject: 'b' } },
      { name: 'a', claimMatch: { ...claimMatch, issuerPattern: 'c' } },
      { name: 'a', claimMatch: { ...claimMatch, audience: 'c', audiencePattern: 'd' } },
    ])
      assert.ok(!isValid('iam.v2beta1.Identity.Create', wrong), JSON.stringify(wrong))
    const change = { claimMatch: { subject: 'b' } }
    assert.ok(isValid('iam.v2beta1.Identity.Update', change), 'an update requires nothing')
    assert.ok(!isValid('iam.v2beta1.Identity.Update', { claimMatch: { issuer: 'a', issuerPattern: 'b' } }))
  })

  test('allows only fields of the resource in an update', () => {
    const updates = Object.entries(schemas).filter(([name]) => name.endsWith('.Update'))
    assert.ok(updates.length > 15)
    for (const [name, schema] of updates) assert.equal(schema.additionalProperties, false, name)
    assert.ok(!isValid('iam.v2beta1.Group.Update', { nme: 'a' }))
  })

  test('has schemas and enum constants whose names, without dots, are unique in a Go package', () => {
    const types = Object.keys(schemas).map((name) => name.replaceAll('.', '').toLowerCase())
    const constants = Object.values(schemas).flatMap((schema) => {
      const names = (schema['x-enum-varnames'] ?? []) as string[]
      assert.equal(names.length, ((schema.enum ?? []) as string[]).length)
      return names
    })
    assert.ok(constants.length > 300)
    for (const name of constants) assert.match(name, /^[A-Z][A-Za-z0-9]*$/)
    const all = [...types, ...constants.map((name) => name.toLowerCase())]
    assert.deepEqual(
      all.filter((name, at) => all.indexOf(name) !== at),
      [],
    )
  })

  test('has a named schema for each detail of an error, which @type selects', () => {
    const { items } = (schemas.Status?.properties as Record<string, Schema>).details as {
      items: { oneOf: Schema[]; discriminator: { propertyName: string; mapping: Record<string, string> } }
    }
    assert.equal(items.discriminator.propertyName, '@type')
    const mapping = Object.entries(items.discriminator.mapping)
    assert.deepEqual(
      mapping.map(([, $ref]) => ({ $ref })),
      items.oneOf,
    )
    for (const [type, $ref] of mapping) {
      const { properties, required } = resolve({ $ref }) as { properties: Schema; required: string[] }
      assert.deepEqual(properties['@type'], { type: 'string', const: type })
      assert.ok(required.includes('@type'))
    }
    const violations = { fieldViolations: [{ field: 'name', description: 'is required' }] }
    const bad = { '@type': 'type.googleapis.com/google.rpc.BadRequest', ...violations }
    assert.ok(isValid('Status', { code: 3, message: 'a', details: [bad] }))
    assert.ok(!isValid('Status', { code: 3, message: 'a', details: [violations] }))
  })

  test('requires the fields of an account also in version 1', () => {
    assert.ok(isValid('iam.AccountAssociations.Amazon.Create', { account: '123456789012' }))
    assert.ok(!isValid('iam.AccountAssociations.Amazon.Create', {}))
    assert.ok(!isValid('iam.AccountAssociations.Azure.Create', { tenantId: 'a', clientIds: {} }))
    assert.ok(isValid('iam.AccountAssociations.Azure.Create', { tenantId: 'a', clientIds: { a: '' } }))
  })

  test('limits page tokens so that one fits into a URL', () => {
    const lengths = operationObjects.flatMap((operation) =>
      (((operation as JsonObject).parameters ?? []) as unknown as Parameter[])
        .filter(({ name, schema }) => name === 'pageToken' && schema?.maxLength)
        .map(({ schema }) => schema?.maxLength),
    )
    assert.ok(lengths.length > 10)
    for (const length of lengths) assert.equal(length, 4096)
  })

  test('says which parameters of the token exchange may be empty, in the query and in a form', () => {
    const { parameters } = objectOf('oidc.SecurityTokenService.Exchange.get') as unknown as {
      parameters: Parameter[]
    }
    const query = Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]))
    const post = document.paths['/sts/exchange']?.post as unknown as {
      requestBody: { content: Record<string, { schema: { properties: Record<string, Schema> } }> }
    }
    const form = post.requestBody.content['application/x-www-form-urlencoded']?.schema.properties
    for (const properties of [query, form]) {
      const minLength = (name: string) => properties?.[name]?.minLength
      assert.deepEqual(['scope', 'identity', 'identityProvider'].map(minLength), [1, undefined, undefined])
      for (const list of ['aud', 'cap'])
        assert.equal((properties?.[list]?.items as Schema).minLength, 1, list)
    }
  })

  test('has an update mask that names the fields of the example', () => {
    const updates = operations.filter(({ query }) => query.some(({ name }) => name === 'updateMask'))
    assert.ok(updates.length > 8)
    for (const { id, body } of updates) {
      const { parameters } = objectOf(id) as unknown as { parameters: Parameter[] }
      const mask = parameters.find(({ name }) => name === 'updateMask')?.example
      assert.ok(body && mask, id)
      assert.deepEqual(mask.split(','), Object.keys(bodyExample(body) as JsonObject), id)
    }
  })
})

onEachStore('a client of the OpenAPI document', (engine) => {
  let platform: Platform
  let doors: [rest: Door, grpc: Door]
  before(async () => {
    platform = await sharedPlatform(engine)
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  const make = async (method: Parameters<Door['call']>[0], request: JsonObject) => {
    const { body, error } = await doors[0].call(method, request, platform.owner.token)
    assert.ok(body, error?.message)
    return body.uid as string
  }
  const fetchAsOwner = (target: string, init: RequestInit = {}) =>
    fetch(platform.url + target, {
      ...init,
      headers: { authorization: `Bearer ${platform.owner.token}`, ...init.headers },
    })

  test('creates resources with the required fields only', async () => {
    let count = 0
    const { organization } = platform.owner
    const repo = await make(ReposService.method.createRepo, {
      parent: organization,
      repo: { name: 'static' },
    })
    const identity = await make(IdentitiesService.method.createIdentity, {
      parent: organization,
      identity: { name: 'ci', claimMatch: { issuer: 'https://issuer.test', subject: 'ci' } },
    })
    for (const { id, method, body, variables } of operations) {
      const [variable] = variables
      if (!method.isCreate || body?.type !== 'application/json' || !variable) continue
      const group = await make(GroupsService.method.createGroup, {
        parent: organization,
        group: { name: 'here' },
      })
      const { requestBody } = objectOf(id) as unknown as {
        requestBody: { content: Record<string, { schema: Schema }> }
      }
      const minimal = requiredPartOf(bodyExample(body), requestBody.content['application/json']?.schema ?? {})
      const sample = JSON.parse(
        JSON.stringify(minimal, (key, value) =>
          /^identity(?:Uid)?$/.test(key) && typeof value === 'string' ? identity : value,
        ),
      )
      const parent = method.desc.name === 'CreateTag' ? repo : group
      const request = body.isSingleField
        ? { [variable.field.jsonName]: parent, [method.resource?.jsonName ?? '']: sample }
        : { [variable.field.jsonName]: parent, ...sample }
      const { error } = await doors[0].call(method.desc, request, platform.owner.token)
      assert.doesNotMatch(JSON.stringify(error ?? ''), /required/, `${id} ${JSON.stringify(sample)}`)
      assert.notEqual(error?.code, 3, `${id} ${error?.message} ${JSON.stringify(sample)}`)
      count++
    }
    assert.ok(count > 20, `${count} operations`)
  })

  test('can send the examples of all query parameters of a list together', async () => {
    let count = 0
    for (const { path, verb, parameters = [] } of operationObjects as unknown as {
      path: string
      verb: string
      parameters?: Parameter[]
    }[]) {
      const shown = parameters.filter(({ in: place, example }) => place === 'query' && example !== undefined)
      // A required parameter without an example depends on data that this test does not have.
      const isComplete = parameters.every(({ required, example }) => !required || example !== undefined)
      if (verb !== 'get' || path.includes('{') || shown.length === 0 || !isComplete) continue
      const query = new URLSearchParams(
        shown.map(({ name, example }): [string, string] => [name, example ?? '']),
      )
      const answer = await fetchAsOwner(`${path}?${query}`)
      assert.equal(answer.status, 200, `${path}?${query}: ${await answer.text()}`)
      count++
    }
    assert.ok(count > 15, `${count} lists`)
  })

  test('filters by as many uids as the document says, and by 1000 in a form and over gRPC', async () => {
    const { organization, token } = platform.owner
    const uids = Array.from({ length: 1001 }, () =>
      newChildUid(newChildUid(organization, Date.now(), randomBytes), Date.now(), randomBytes),
    )
    const { parameters } = objectOf('iam.v2beta1.GroupsService.ListGroups') as unknown as {
      parameters: Parameter[]
    }
    const documentedMax = Number(parameters.find(({ name }) => name === 'uidp.ids')?.schema?.maxItems)
    assert.ok(documentedMax >= 50)
    const queryOf = (count: number) =>
      uids
        .slice(0, count)
        .map((uid) => `uidp.ids=${uid}`)
        .join('&')
    const atMax = `/iam/v2beta1/groups?pageSize=200&${queryOf(documentedMax)}`
    assert.equal((await fetchAsOwner(atMax)).status, 200)
    const form = (count: number) =>
      fetchAsOwner('/iam/v2beta1/groups', {
        method: 'POST',
        headers: {
          'x-http-method-override': 'GET',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: queryOf(count),
      })
    assert.equal((await form(1000)).status, 200)
    assert.equal((await form(1001)).status, 400)
    const { listGroups } = GroupsService.method
    const call = (count: number) => doors[1].call(listGroups, { uidp: { ids: uids.slice(0, count) } }, token)
    assert.ok((await call(1000)).body)
    assert.equal((await call(1001)).error?.code, 3)
  })
})

test('the OpenAPI document states the pattern of uids wherever one is required, also in version 1', () => {
  const isUid = (description: unknown) => /^Uid of|with this uid\.$/.test(String(description ?? ''))
  const parameters = operationObjects.flatMap(({ path, verb, ...operation }) =>
    (((operation as JsonObject).parameters ?? []) as unknown as (Parameter & { description?: string })[])
      .filter(({ description, schema }) => isUid(description) && schema?.type === 'string' && !schema.pattern)
      .map(({ name }) => `${verb} ${path} ${name}`),
  )
  const fields = Object.entries(schemas)
    .filter(([name]) => /\.(?:Create|Update|Batch)$/.test(name))
    .flatMap(([name, { properties = {} }]) =>
      Object.entries(properties as Record<string, Schema>)
        .filter(([, { description, type, pattern }]) => isUid(description) && type === 'string' && !pattern)
        .map(([field]) => `${name} ${field}`),
    )
  assert.deepEqual(
    [...parameters, ...fields],
    [
      'post /iam/v1/groups/{id} id', // may be a name
      'delete /auth/v1/delete/{id} id', // is only compared with the uid of the caller
      'get /sts/exchange scope', // deprecated; checked together with scopes
      'get /sts/exchange identity', // may be empty, as published clients send it
      'get /sts/exchange identityProvider', // likewise
    ],
  )
})
