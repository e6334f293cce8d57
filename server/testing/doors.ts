// The same call through either door, described once: a method and its request as JSON.
import type { DescMessage, DescMethod, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { createRegistry, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf'
import { anyUnpack, StructSchema } from '@bufbuild/protobuf/wkt'
import type { ServiceError } from '@grpc/grpc-js'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import * as details from '@stemma/api/gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '@stemma/api/gen/google/rpc/status_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { toCamel } from '../aip/field-path.ts'
import { writeJson } from '../wire/json-writer.ts'

export type ErrorBody = { code: number; message: string; details: ({ '@type': string } & JsonObject)[] }

/** What came back: a body, or an error. A stream that came to its end is `{ documents: […] }`. */
export type Answer = { body: JsonObject; error?: undefined } | { body?: undefined; error: ErrorBody }

export type Door = {
  name: 'REST' | 'gRPC'
  call(method: DescMethod, request: JsonObject, token?: string): Promise<Answer>
  close(): void
}

/** `rename` makes another name of what the contract says, for calls under other names. */
type Rename = (name: string) => string

export function restDoor(url: string, rename: Rename = same): Door {
  return {
    name: 'REST',
    async call(method, request, token) {
      const { verb, target, body } = transcode(method, request)
      const headers: Record<string, string> = { 'content-type': 'application/json' }
      if (token !== undefined) headers.authorization = `Bearer ${token}`
      const init = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await fetch(url + rename(target), { method: verb, headers, ...init })
      const text = await response.text()
      if (response.ok && method.methodKind === 'server_streaming')
        return { body: { documents: linesOf(text) } }
      const json = text === '' ? {} : JSON.parse(text)
      return response.ok ? { body: json } : { error: json }
    },
    close() {},
  }
}

const same: Rename = (name) => name

function linesOf(text: string): JsonObject[] {
  const lines = text.split('\n')
  if (lines.pop() !== '') throw new Error('the last line has no end')
  return lines.map((line) => JSON.parse(line))
}

/** What grpc-gateway's clients do: path variables, the body field, and the rest as query. */
function transcode(method: DescMethod, request: JsonObject) {
  const [binding] = describeMethod(method).bindings
  if (!binding) throw new Error(`${method.name} has no http rule`)
  const isWhole = binding.body === '*'
  const rest = structuredClone(request)
  const body = isWhole ? rest : binding.body === '' ? undefined : (take(rest, binding.body) ?? {})
  const path = binding.path.replace(/\{([^=}]+)(?:=[^}]*)?\}/g, (_, field: string) => {
    const [first = '', ...others] = field.split('.').map(toCamel)
    const owner = first === toCamel(binding.body) ? { [first]: body ?? {} } : rest
    return String(take(owner as JsonObject, [first, ...others].join('.')) ?? '')
  })
  const query = isWhole ? '' : queryOf(rest).join('&')
  // An empty parent leaves a trailing slash, which means the same as none on create alone.
  const target =
    (verbIsCreate(binding.verb) ? path.replace(/\/$/, '') : path) + (query === '' ? '' : `?${query}`)
  return { verb: binding.verb, target, body }
}

const verbIsCreate = (verb: string) => verb === 'POST'

function take(from: JsonObject, path: string): JsonValue | undefined {
  const [first = '', ...others] = path.split('.')
  const inside = from[toCamel(first)]
  if (others.length > 0) return inside ? take(inside as JsonObject, others.join('.')) : undefined
  delete from[toCamel(first)]
  return inside
}

function queryOf(values: JsonObject, prefix = ''): string[] {
  return Object.entries(values).flatMap(([key, value]) => {
    if (Array.isArray(value)) return value.map((one) => `${prefix}${key}=${encodeURIComponent(String(one))}`)
    if (typeof value === 'object' && value !== null) return queryOf(value, `${prefix}${key}.`)
    return [`${prefix}${key}=${encodeURIComponent(String(value))}`]
  })
}

export function grpcDoor(url: string, rename: Rename = same): Door {
  const client = new Client(new URL(url).host, credentials.createInsecure())
  return {
    name: 'gRPC',
    call(method, request, token) {
      const metadata = new Metadata()
      if (token !== undefined) metadata.set('authorization', `Bearer ${token}`)
      const bytes = Buffer.from(toBinary(method.input, fromJson(method.input, request)))
      return new Promise((resolve) => {
        const path = `/${rename(method.parent.typeName)}/${method.name}`
        const asIs = (value: Buffer) => value
        if (method.methodKind === 'server_streaming') {
          const documents: JsonObject[] = []
          const call = client.makeServerStreamRequest(path, asIs, asIs, bytes, metadata)
          call.on('data', (document) => documents.push(bodyOf(method.output, document)))
          call.on('error', (error: ServiceError) =>
            resolve({ error: errorOf(error.code, error.details, error.metadata) }),
          )
          call.on('end', () => resolve({ body: { documents } }))
          return
        }
        client.makeUnaryRequest(path, asIs, asIs, bytes, metadata, (error, reply) => {
          if (error) resolve({ error: errorOf(error.code, error.details, error.metadata) })
          else resolve({ body: bodyOf(method.output, reply ?? Buffer.alloc(0)) })
        })
      })
    },
    close: () => client.close(),
  }
}

/** As our own writer has it; documents of others are what they are. */
function bodyOf(desc: DescMessage, bytes: Buffer): JsonObject {
  const message = fromBinary(desc, bytes)
  const isDocument = desc.typeName === StructSchema.typeName
  return isDocument ? (toJson(desc, message) as JsonObject) : JSON.parse(writeJson(desc, message))
}

const schemas = Object.values(details).filter(
  (value) => typeof value === 'object' && value.kind === 'message',
)
const registry = createRegistry(...schemas)

function errorOf(code: number, message: string, metadata: Metadata): ErrorBody {
  const [packed] = metadata.get('grpc-status-details-bin')
  if (!packed) return { code, message, details: [] }
  const status = fromBinary(StatusSchema, packed as Buffer)
  const unpacked = status.details.map((any) => {
    const detail = anyUnpack(any, registry)
    const schema = detail && registry.getMessage(detail.$typeName)
    if (!detail || !schema) throw new Error(`unknown detail ${any.typeUrl}`)
    return { '@type': any.typeUrl, ...(toJson(schema, detail) as JsonObject) }
  })
  return { code: status.code, message: status.message, details: unpacked }
}
