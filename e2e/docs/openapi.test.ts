// The OpenAPI document is valid; its examples and the responses of a real server match its schemas.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { DeliveriesService } from '@stemma/api/gen/platform/events/v2beta1/delivery_pb.ts'
import { EventsService } from '@stemma/api/gen/platform/events/v2beta1/event_pb.ts'
import { Groups as V1Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import {
  IdentityProviderSchema,
  IdentityProvidersService,
} from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { errorResponses } from '@stemma/api/reference/error-responses.ts'
import { bodyExample, exampleOf, groupUid } from '@stemma/api/reference/examples.ts'
import type { OpenApi } from '@stemma/api/reference/openapi.ts'
import { makeOpenApi } from '@stemma/api/reference/openapi.ts'
import { describeServices } from '@stemma/api/reference/operations.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import type { CallResult, Door, ErrorBody } from '../../server/testing/doors.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { matrix } from '../iam/access-matrix.ts'

const document = makeOpenApi('http://localhost:8080')
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([verb, operation]) => ({ path, verb, operation: operation as Operation })),
)

type Content = Record<
  string,
  { schema: JsonObject; example?: JsonObject; examples?: Record<string, { value: JsonObject }> }
>
type Operation = JsonObject & {
  operationId: string
  parameters?: { example?: string }[]
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content }>
}

const ajv = new Ajv2020({ allErrors: true, strict: false })
addFormats.default(ajv)
ajv.addSchema({ $id: 'https://stemma.test/openapi', ...forbidExtraProperties(document) })

/** Forbids additional properties in the document, so that an undocumented field in a response is an error. */
function forbidExtraProperties(value: OpenApi): OpenApi {
  const forbid = (_: string, part: unknown) =>
    typeof part === 'object' &&
    part !== null &&
    'type' in part &&
    part.type === 'object' &&
    'properties' in part
      ? { additionalProperties: false, ...part }
      : part
  return JSON.parse(JSON.stringify(value, forbid)) as OpenApi
}

/** Validates a value against the schema at a JSON pointer into the document. */
function assertFits(value: unknown, ...pointer: string[]): void {
  const path = pointer
    .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/')
  const isValid = ajv.compile({ $ref: `https://stemma.test/openapi#/${path}` })
  assert.ok(isValid(value), `${ajv.errorsText(isValid.errors)}: ${JSON.stringify(value)}`)
}

describe('the OpenAPI document', () => {
  test('is valid by the JSON schema of OpenAPI', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    assert.ok(valid, JSON.stringify(errors))
  })

  test('refers only to components that exist, and to each of them', () => {
    const references = new Set(JSON.stringify(document).match(/(?<="\$ref":")[^"]+/g))
    const defined = Object.entries(document.components as Record<string, object>)
      .filter(([kind]) => kind !== 'securitySchemes')
      .flatMap(([kind, parts]) => Object.keys(parts).map((name) => `#/components/${kind}/${name}`))
    assert.deepEqual([...references].sort(), defined.sort())
  })

  test('has unique operation ids, and for every operation a summary, a known tag, and responses for success and errors', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    assert.equal(new Set(ids).size, ids.length)
    const tags = new Set((document.tags as { name: string }[]).map(({ name }) => name))
    for (const { operation } of operations) {
      assert.ok(operation.summary, operation.operationId)
      for (const tag of operation.tags as string[])
        assert.ok(tags.has(tag), `${operation.operationId}: ${tag}`)
      const statuses = Object.keys(operation.responses)
      assert.ok(
        statuses.some((status) => /^(?:2..|default)$/.test(status)),
        operation.operationId,
      )
      assert.ok(
        statuses.some((status) => /^(?:4..|4XX|default)$/.test(status)),
        operation.operationId,
      )
    }
  })

  test('defines every variable of a path once, and no path twice', () => {
    const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{[^}]*\}/g, '{}'))
    assert.equal(new Set(shapes).size, shapes.length)
    for (const { path, operation } of operations) {
      const variables = Array.from(path.matchAll(/\{([^}]*)\}/g), ([, name]) => name).sort()
      const parameters = (operation.parameters ?? []) as { in?: string; name?: string }[]
      const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
      assert.deepEqual(inPath.sort(), variables, operation.operationId)
      const names = parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
      assert.equal(new Set(names).size, names.length, operation.operationId)
    }
  })

  describe('has examples that match their schemas', () => {
    for (const { path, verb, operation } of operations) {
      test(operation.operationId, () => {
        const { requestBody, responses } = operation
        for (const [type, { example }] of Object.entries(requestBody?.content ?? {}))
          assertFits(example, 'paths', path, verb, 'requestBody', 'content', type, 'schema')
        for (const [type, { example }] of Object.entries(responses[200]?.content ?? {}))
          if (example) assertFits(example, 'paths', path, verb, 'responses', '200', 'content', type, 'schema')
      })
    }

    test('parameters', () => {
      let count = 0
      for (const { path, verb, operation } of operations)
        for (const [at, { example }] of (operation.parameters ?? []).entries()) {
          if (example === undefined) continue
          count++
          assertFits(example, 'paths', path, verb, 'parameters', String(at), 'schema')
        }
      assert.ok(count > 40)
    })

    test('errors', () => {
      const { responses } = document.components as unknown as {
        responses: Record<string, { content: Content }>
      }
      const values = Object.values(responses).flatMap(({ content }) =>
        Object.values(content['application/json']?.examples ?? {}).map(({ value }) => value),
      )
      assert.ok(values.length > 5)
      for (const value of values) assertFits(value, 'components', 'schemas', 'Status')
    })
  })
})

describe('a server', () => {
  let platform: Platform
  let door: Door
  before(async () => {
    platform = await startPlatform('sqlite')
    door = restDoor(platform.url)
  })
  after(() => platform.stop())

  const make = async (method: Parameters<Door['call']>[0], request: JsonObject) => {
    const { body, error } = await door.call(method, request, platform.owner.token)
    assert.ok(body, error?.message)
    return body.uid as string
  }
  const makeGroup = () =>
    make(GroupsService.method.createGroup, { parent: platform.owner.organization, group: { name: 'here' } })

  describe('responds as the document says', () => {
    let okCount = 0
    for (const { operation, path, verb } of operations) {
      const name = `platform.${operation.operationId}`
      const row = matrix[name]
      if (!row) continue
      test(operation.operationId, async () => {
        const here = await makeGroup()
        const { organization, token } = platform.owner
        const request = await row.request({ platform, organization, here, door, owner: platform.owner })
        const endpoint = platform.app.endpoints.find(({ method }) => method.name === name)
        assert.ok(endpoint)
        const { body, error } = await door.call(endpoint.method.desc, request, token)
        if (error) return assertFits(error, 'components', 'schemas', 'Status')
        okCount++
        const { content } = operation.responses[200] ?? {}
        if (!content) return assert.deepEqual(body, {})
        const [type = ''] = Object.keys(content)
        for (const document of type === 'application/jsonl' ? (body.documents as JsonObject[]) : [body])
          assertFits(document, 'paths', path, verb, 'responses', '200', 'content', type, 'schema')
      })
    }

    test('and most operations were called successfully', () => {
      // The owner is a workload, which has no account and cannot be an operator.
      const isForPeople = /\.AccountService\.|^platform\.server\./
      const count = Object.keys(matrix).filter((name) => !isForPeople.test(name)).length
      assert.ok(okCount > 0.85 * count, `${okCount} of ${count}`)
    })
  })

  test('documents 403 for calls that are no lists, and 404 for calls without a variable in their path', async () => {
    const { organization, identity, token } = platform.owner
    const roleless = await platform.addIdentity(organization)
    const missing = `${organization}/${'0'.repeat(16)}`
    const questions = [{ identity, resource: organization, capability: 'groups.list' }]
    const code = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }).x as string
    const requests = [{ roleBinding: { identityUid: identity, roleUid: builtInRole('viewer').uid } }]
    for (const [status, method, request, caller] of [
      [403, AccessService.method.batchCheckAccess, { questions }, roleless.token],
      [403, Registry.method.getPackageVersionMetadata, { package: 'curl' }, roleless.token],
      [404, GroupsService.method.lookupGroup, {}, token],
      [404, V1Groups.method.lookupGroup, {}, token],
      [404, Auth.method.getHeadlessSession, { code }, token],
      [404, DeliveriesService.method.listDeliveries, { subscription: missing }, token],
      [404, EventsService.method.tailEvents, { group: missing }, token],
      [404, RoleBindingsService.method.batchCreateRoleBindings, { parent: missing, requests }, token],
    ] as const) {
      const name = describeMethod(method).name
      assert.equal((await door.send(method, request, caller, {})).http, status, name)
      const described = operations.find(({ operation }) => `platform.${operation.operationId}` === name)
      assert.ok(described && status in described.operation.responses, `${name} ${status}`)
    }
  })

  /** A new parent for the resource that a method creates: the group itself, or a resource in the group. */
  async function makeParent(method: string, group: string): Promise<string> {
    if (/\bCreateTag$/.test(method))
      return make(ReposService.method.createRepo, { parent: group, repo: { name: 'static' } })
    if (!/\bExternalGroupRoleMappings/.test(method)) return group
    const identityProvider = exampleOf(IdentityProviderSchema, 'create')
    return make(IdentityProvidersService.method.createIdentityProvider, { parent: group, identityProvider })
  }

  describe('accepts the documented request bodies', () => {
    for (const { operations } of describeServices()) {
      for (const { id, method, body, variables } of operations.filter(({ verb }) => verb === 'POST')) {
        const [variable] = variables
        if (!body?.isSingleField || !variable) continue
        test(id, async () => {
          const group = await makeGroup()
          const parent = await makeParent(method.name, group)
          const identity = await make(IdentitiesService.method.createIdentity, {
            parent: group,
            identity: { name: 'ci', claimMatch: { issuer: 'https://issuer.test', subject: 'ci' } },
          })
          const sample = JSON.parse(
            JSON.stringify(bodyExample(body), (key, value) =>
              /^identity(?:Uid)?$/.test(key) ? identity : key === 'scope' ? group : value,
            ),
          )
          const request = {
            [variable.field.jsonName]: parent,
            [method.resource?.jsonName ?? '']: sample,
          }
          const answer = await door.call(method.desc, request, platform.owner.token)
          assert.ok(answer.body, answer.error?.message)
        })
      }
    }
  })

  test('returns the documented error examples', async () => {
    const { createGroup, deleteGroup, getGroup, updateGroup } = GroupsService.method
    const { createRepo } = ReposService.method
    const { organization: parent, token } = platform.owner
    const stranger = await platform.addOrganization('elsewhere')
    const nonEmptyGroup = await makeGroup()
    await make(createRepo, { parent: nonEmptyGroup, repo: { name: 'static' } })
    const unknownUid = `${parent}/${'0'.repeat(16)}`
    const actual = {
      'an invalid field': await door.call(createGroup, { parent, group: {} }, token),
      'a group that is not empty': await door.call(deleteGroup, { uid: nonEmptyGroup }, token),
      'no token': await door.call(getGroup, { uid: nonEmptyGroup }),
      'a missing capability': await door.call(getGroup, { uid: nonEmptyGroup }, stranger.token),
      'an unknown uid': await door.call(getGroup, { uid: unknownUid }, token),
      'a name that exists': await door.call(
        createRepo,
        { parent: nonEmptyGroup, repo: { name: 'static' } },
        token,
      ),
      'a reused idempotency key': await reuseKey(parent, token),
      'a rate limit': await reachRate(),
      'an old ETag': await ifMatch('"old"').call(
        updateGroup,
        { group: { uid: nonEmptyGroup, name: 'new' } },
        token,
      ),
    }
    const documented = Object.assign({}, ...Object.values(errorResponses).map(({ examples }) => examples))
    assert.deepEqual(Object.keys(actual).sort(), Object.keys(documented).sort())
    for (const [name, { error }] of Object.entries(actual)) {
      const text = JSON.stringify(error).replaceAll(nonEmptyGroup, groupUid).replaceAll(unknownUid, groupUid)
      assert.deepEqual(JSON.parse(text), documented[name], name)
    }
  })

  /** Reaches a low rate, and replaces it in the error by the default rate, which the example has. */
  async function reachRate(): Promise<CallResult> {
    const slow = await startPlatform('sqlite', ['--rate-list', 'caller=1'])
    const slowDoor = restDoor(slow.url)
    try {
      for (;;) {
        const { error } = await slowDoor.call(GroupsService.method.listGroups, {}, slow.owner.token)
        if (!error) continue
        const text = JSON.stringify(error)
          .replace(slow.owner.identity, '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b/c07d22e19a5b4f36')
          .replace('1 a second, after a burst of 10', '500 a second, after a burst of 5000')
        return { error: JSON.parse(text) }
      }
    } finally {
      await slow.stop()
    }
  }

  async function reuseKey(parent: string, token: string) {
    const create = (name: string) =>
      door.send(GroupsService.method.createGroup, { parent, group: { name } }, token, {
        'idempotency-key': '"the same"',
      })
    await create('first')
    const reused = await create('second')
    assert.equal(reused.http, 422)
    return reused.result
  }

  /** A door that updates a group with If-Match and expects 412. */
  const ifMatch = (etag: string): Pick<Door, 'call'> => ({
    async call(_, request, token) {
      const { uid, ...group } = request.group as JsonObject
      const response = await fetch(`${platform.url}/iam/v2beta1/groups/${uid}`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${token}`, 'if-match': etag, 'content-type': 'application/json' },
        body: JSON.stringify(group),
      })
      assert.equal(response.status, 412)
      return { error: (await response.json()) as ErrorBody }
    },
  })
})
