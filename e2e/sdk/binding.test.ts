// Property test: for every method, the server reads exactly the request that the SDK was given.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type {
  DescField,
  DescMessage,
  DescMethod,
  DescService,
  JsonObject,
  JsonValue,
} from '@bufbuild/protobuf'
import { fromJson, ScalarType, toJson } from '@bufbuild/protobuf'
import type { ConnectionOptions } from '@stemma/api'
import { createClient } from '@stemma/api'
import { services } from '@stemma/api/gen/services.ts'
import { bindingsOf } from '@stemma/api/http-binding.ts'
import { createClient as createJsonClient } from '@stemma/api/json'
import { describeMethods } from '@stemma/api/method.ts'
import fc from 'fast-check'
import { bindRequest } from '../../server/http/rest/bind.ts'
import { makeRoutes, splitPath } from '../../server/http/rest/routes.ts'
import { anyCodePoint, anyUid } from '../../server/testing/arbitraries.ts'

const routes = makeRoutes(services.flatMap(describeMethods).map((method) => ({ method })))

type Call = (request: unknown) => Promise<unknown> | AsyncGenerator
type EntryPoint = {
  makeClient(service: DescService, options: ConnectionOptions): Promise<Record<string, Call>>
  requestOf(method: DescMethod, json: JsonObject): unknown
}

// A service from the list of all services has no static type, hence the cast.
const entryPoints: Record<string, EntryPoint> = {
  'with messages': {
    makeClient: async (service, options) => createClient(service, options) as Record<string, never>,
    requestOf: ({ input }, json) => fromJson(input, json),
  },
  'with JSON': {
    async makeClient(service, options) {
      const { [service.name]: serviceRoutes } = await import(`@stemma/api/json/${service.file.name}`)
      return createJsonClient(serviceRoutes, options)
    },
    requestOf: (_, json) => json,
  },
}

for (const [name, { makeClient, requestOf }] of Object.entries(entryPoints)) {
  describe(`the SDK ${name} has a method`, () => {
    for (const service of services) {
      test(`for every call of ${service.typeName}`, async () => {
        const client = await makeClient(service, { baseUrl: 'http://localhost' })
        assert.deepEqual(
          Object.keys(client),
          service.methods.map(({ localName }) => localName),
        )
        for (const method of service.methods) assert.equal(typeof client[method.localName], 'function')
      })
    }
  })

  describe(`a request of the SDK ${name} arrives unchanged`, () => {
    let sent: Request | undefined
    const options: ConnectionOptions = {
      baseUrl: 'http://localhost',
      // A Request normalizes its URL, as a real fetch does.
      fetch: async (target, init) => {
        sent = new Request(target, init)
        return new Response('{}\n')
      },
    }

    for (const method of services.flatMap((service) => service.methods)) {
      test(`${method.parent.typeName}.${method.name}`, async () => {
        const { [method.localName]: call } = await makeClient(method.parent, options)
        const property = fc.asyncProperty(anyRequest(method), async (request) => {
          sent = undefined
          const answer = call?.(requestOf(method, request)) ?? assert.fail()
          await ('next' in answer ? answer.next() : answer)
          assert.deepEqual(compact(await readSent(method, sent ?? assert.fail())), compact(request))
        })
        await fc.assert(property, { numRuns: 30, endOnFailure: true })
      })
    }
  })
}

/** The request as the server reads it. */
async function readSent(method: DescMethod, request: Request): Promise<JsonValue> {
  const { pathname, search } = new URL(request.url)
  const isForm = request.headers.get('content-type') === 'application/x-www-form-urlencoded'
  const verb = isForm ? (request.headers.get('x-http-method-override') ?? '') : request.method
  const match = routes.match(verb, splitPath(pathname))
  assert.equal(match?.route.endpoint.method.desc, method)
  const text = await request.text()
  return toJson(
    method.input,
    isForm ? bindRequest(match, text, '') : bindRequest(match, search.slice(1), text),
  )
}

/** Path variables are uids. Updates have a mask, since the server would otherwise derive the mask from the body. */
function anyRequest(method: DescMethod): fc.Arbitrary<JsonObject> {
  const [binding] = bindingsOf(method)
  const matches = binding?.path.matchAll(/\{([^=}]+)=(\*+)/g) ?? []
  const variables = new Map(Array.from(matches, ([, name = '', stars]) => [name, stars === '*' ? 1 : 3]))
  const requiredNames = [binding?.body ?? '', 'update_mask']
  const request = anyMessage(method.input, requiredNames, (path) => variables.get(path))
  // A query cannot express lists of messages.
  const unsendable = binding?.body ? [] : method.input.fields.filter(isMessageList)
  return request.map((fields) => {
    for (const { jsonName } of unsendable) delete fields[jsonName]
    return fields
  })
}

const isMessageList = (field: DescField) => field.fieldKind === 'list' && field.listKind === 'message'

/** The maximum number of segments of a path variable; undefined for other fields. */
type SegmentsOf = (path: string) => number | undefined

function anyMessage(
  desc: DescMessage,
  requiredNames: string[],
  segmentsOf: SegmentsOf,
  prefix = '',
): fc.Arbitrary<JsonObject> {
  // Only one field of a oneof can be set: here, the first.
  const fields = desc.fields.filter(({ oneof, name }) => !oneof || oneof.fields[0]?.name === name)
  const values = Object.fromEntries(
    fields.map((field) => [field.jsonName, anyValue(field, segmentsOf, prefix + field.name)]),
  )
  const requiredKeys = fields
    .filter(({ name }) => requiredNames.includes(name) || hasPathVariable(prefix + name, segmentsOf))
    .map(({ jsonName }) => jsonName)
  return fc.record(values, { requiredKeys }) as fc.Arbitrary<JsonObject>
}

/** Whether the field is a path variable or contains one. */
const hasPathVariable = (path: string, segmentsOf: SegmentsOf) =>
  [path, `${path}.uid`].some((variable) => segmentsOf(variable) !== undefined)

function anyValue(field: DescField, segmentsOf: SegmentsOf, path: string): fc.Arbitrary<JsonValue> {
  const segments = segmentsOf(path)
  if (segments) return anyUid(segments)
  const single = anySingleValue(field, segmentsOf, path)
  if (field.fieldKind === 'map') {
    const key = field.mapKey === ScalarType.STRING ? /^[a-z]{1,5}$/ : /^[1-9]{1,5}$/
    return fc.dictionary(fc.stringMatching(key), single, { maxKeys: 3, noNullPrototype: true })
  }
  return field.fieldKind === 'list' ? fc.array(single, { maxLength: 3 }) : single
}

/** Never the default value, because `toJson` omits it. */
function anySingleValue(field: DescField, segmentsOf: SegmentsOf, path: string): fc.Arbitrary<JsonValue> {
  if (field.enum) return fc.constantFrom(...field.enum.values.slice(1).map(({ name }) => name))
  if (field.message)
    return wellKnown[field.message.typeName] ?? anyMessage(field.message, [], segmentsOf, `${path}.`)
  switch (field.scalar) {
    case ScalarType.STRING:
      return anyText()
    case ScalarType.BOOL:
      return fc.constant(true)
    case ScalarType.BYTES:
      return fc.uint8Array({ minLength: 1 }).map((bytes) => Buffer.from(bytes).toString('base64'))
    case ScalarType.INT64:
      return fc.bigInt({ min: 1n, max: 2n ** 60n }).map(String)
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return fc.constantFrom(0.5, 1.25)
    default:
      return fc.integer({ min: 1, max: 2 ** 31 - 1 })
  }
}

const anyText = () => fc.string({ unit: anyCodePoint, minLength: 1 })

const wellKnown: Record<string, fc.Arbitrary<JsonValue>> = {
  'google.protobuf.Timestamp': fc
    .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString().replace('.000', '')),
  'google.protobuf.Duration': fc.integer({ min: 1, max: 1e6 }).map((seconds) => `${seconds}s`),
  'google.protobuf.FieldMask': fc
    .uniqueArray(fc.constantFrom('name', 'description', 'uid'), { minLength: 1 })
    .map((paths) => paths.join(',')),
}

/** The value without empty lists and objects, which a query cannot express. */
function compact(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => compact(item) ?? {})
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const content = compact(inner)
    return content === undefined ? [] : [[key, content] as const]
  })
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}
