// Sends raw bytes to a platform as a hostile caller would, and checks that every refusal has the documented form and
// that the store is unchanged.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import type { JsonObject } from '@bufbuild/protobuf'
import { fromBinary } from '@bufbuild/protobuf'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import { BadRequestSchema, ErrorInfoSchema } from '@stemma/api/gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '@stemma/api/gen/google/rpc/status_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Code, codeName, codePrefix, httpStatus } from '../../server/aip/code.ts'
import type { Overrides } from '../../server/app.ts'
import { loadMigrations } from '../../server/store/migrations.ts'
import { raw, sql } from '../../server/store/sql.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { RawResponse } from '../../server/testing/raw-http.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { sharing } from '../../server/testing/shared-platform.ts'
import type { Engine } from '../../server/testing/stores.ts'

export type RestRequest = {
  verb?: string
  target: string | Uint8Array
  headers?: Record<string, string>
  body?: string | Uint8Array
}

/** An error in the common form of both doors. */
export type Refusal = {
  code: Code
  message: string
  reason: string
  fields: string[]
  requestId: string
}

export type AttackedPlatform = {
  platform: Platform
  /** A group below the organization. */
  group: string
  rest(request: RestRequest): Promise<RawResponse>
  /** The error, or undefined for a success. */
  grpc(method: string, message: Uint8Array, headers?: Record<string, string>): Promise<Refusal | undefined>
  /** Fails if the store has changed since the start. */
  assertUnchanged(): Promise<void>
  stop(): Promise<void>
}

/** Shared by suites that check that nothing else has changed in the store, and that store little. */
const platformOfAttacks = sharing()

export async function startAttackedPlatform(
  engine: Engine,
  args: string[] = [],
  overrides: Overrides = {},
): Promise<AttackedPlatform> {
  const isDefault = args.length === 0 && Object.keys(overrides).length === 0
  const platform = isDefault ? await platformOfAttacks(engine) : await startPlatform(engine, args, overrides)
  const { organization, token } = platform.owner
  const door = restDoor(platform.url)
  const request = { parent: organization, group: { name: 'attacked', description: 'as it was' } }
  const { body } = await door.call(GroupsService.method.createGroup, request, token)
  const session = connect(platform.url)
  const before = await dump(platform)

  return {
    platform,
    group: body?.uid as string,
    rest: (sent) => sendRest(platform, sent),
    async grpc(method, message, headers = {}) {
      const answer: Record<string, unknown> = {}
      const stream = session.request({
        ':method': 'POST',
        ':path': `/${GroupsService.typeName}/${method}`,
        'content-type': 'application/grpc',
        te: 'trailers',
        authorization: `Bearer ${token}`,
        ...headers,
      })
      stream.on('response', (sent) => Object.assign(answer, sent))
      stream.on('trailers', (sent) => Object.assign(answer, sent))
      stream.resume()
      stream.end(framed(message))
      await once(stream, 'close') // rejects if the stream emits an error
      return refusalOf(answer)
    },
    async assertUnchanged() {
      assert.equal(await dump(platform), before)
    },
    async stop() {
      session.destroy()
      await platform.stop()
    },
  }
}

async function sendRest({ app, owner }: Platform, request: RestRequest): Promise<RawResponse> {
  const { verb = 'GET', target, body = '', headers = {} } = request
  const lines = Object.entries({
    host: 'stemma.test',
    authorization: `Bearer ${owner.token}`,
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  const client = await rawClient(app.port)
  try {
    client.send(Buffer.concat([Buffer.from(`${verb} `), Buffer.from(target), Buffer.from(' HTTP/1.1\r\n')]))
    client.send(Buffer.from(`${lines.join('')}\r\n`, 'latin1'))
    client.send(body)
    return await client.response(verb === 'HEAD')
  } finally {
    client.close()
  }
}

function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

function refusalOf(answer: Record<string, unknown>): Refusal | undefined {
  assert.equal(answer[':status'], 200)
  const code = Number(answer['grpc-status']) as Code // its range is checked next
  assert.ok(code >= 0 && code <= 16, `grpc-status ${answer['grpc-status']}`)
  if (code === 0) return undefined
  const bytes = Buffer.from(String(answer['grpc-status-details-bin']), 'base64')
  const status = fromBinary(StatusSchema, bytes)
  assert.equal(status.code, code)
  assert.equal(status.message, decodeURI(String(answer['grpc-message'])))
  const find = (name: string) => status.details.find(({ typeUrl }) => typeUrl.endsWith(name))
  const info = find('ErrorInfo')
  assert.ok(info, 'ErrorInfo is missing')
  const bad = find('BadRequest')
  return {
    code,
    message: status.message,
    reason: anyUnpack(info, ErrorInfoSchema)?.reason ?? '',
    fields: (bad && anyUnpack(bad, BadRequestSchema)?.fieldViolations.map(({ field }) => field)) ?? [],
    requestId: String(answer['x-request-id']),
  }
}

/** Parses a REST response that must be an error. */
export function restRefusal({ status, headers, body }: RawResponse): Refusal {
  assert.ok(status >= 400, `${status} is no error: ${body}`)
  assert.equal(headers.get('content-type'), 'application/json')
  const error = JSON.parse(body) as { code: Code; message: string; details: JsonObject[] }
  assert.deepEqual(Object.keys(error), ['code', 'message', 'details'])
  const typed = (name: string) =>
    error.details.find((detail) => detail['@type'] === `type.googleapis.com/google.rpc.${name}`)
  const info = typed('ErrorInfo')
  assert.ok(info, `ErrorInfo is missing: ${body}`)
  const violations = (typed('BadRequest')?.fieldViolations ?? []) as { field: string }[]
  return {
    code: error.code,
    message: error.message,
    reason: String(info.reason),
    fields: violations.map(({ field }) => field),
    requestId: headers.get('x-request-id') ?? '',
  }
}

/** Checks the code and the violated field of an error, and the form that all errors have. */
export function assertRefused(refusal: Refusal | undefined, code: Code, field?: string): void {
  assert.ok(refusal, 'the request was not refused')
  assert.equal(refusal.code, code, refusal.message)
  assert.equal(refusal.reason, codeName(code))
  assert.ok(refusal.message.startsWith(`${codePrefix(code)}: `), refusal.message)
  assert.match(refusal.requestId, /^[A-Za-z0-9._-]{1,128}$/)
  assert.doesNotMatch(refusal.message, /\bat .*:\d+:\d+|node:|\.ts\b|select |insert /)
  if (field !== undefined) assert.deepEqual([...new Set(refusal.fields)], [field])
}

/** `http` is the expected status if it is not the usual one for the code. */
export function assertRestRefused(
  answer: RawResponse,
  code: Code,
  { field, http = httpStatus(code) }: { field?: string; http?: number } = {},
): void {
  assert.equal(answer.status, http, answer.body)
  assertRefused(restRefusal(answer), code, field)
}

export type RestCase = [
  label: string,
  request: RestRequest,
  code?: Code,
  expected?: { field?: string; http?: number },
]

/** Checks that each case is refused, by default with INVALID_ARGUMENT, and that the store is unchanged. */
export async function assertAllRefused(attacked: AttackedPlatform, cases: RestCase[]): Promise<void> {
  for (const [label, request, code = Code.INVALID_ARGUMENT, expected = {}] of cases) {
    const answer = await attacked.rest(request)
    try {
      assertRestRefused(answer, code, expected)
    } catch (error) {
      throw new Error(`${label} got ${answer.status} ${answer.body}`, { cause: error })
    }
  }
  await attacked.assertUnchanged()
}

/** Every row of every table but the event log, which records refused writes too. */
async function dump({ store }: Platform): Promise<string> {
  const tables = new Set<string>()
  const change = /^(?:create table (\w+)|drop table (\w+)|alter table (\w+) rename to (\w+))/gm
  for (const { script } of loadMigrations())
    for (const [, created, dropped, renamed, name] of script.matchAll(change)) {
      tables.delete(dropped ?? renamed ?? '')
      tables.add(created ?? name ?? '')
    }
  for (const name of ['', 'events', 'unsealed_events', 'event_chains']) tables.delete(name)
  const contents = [...tables].map(async (table) => {
    const rows = await store.query(sql`select * from ${raw(table)}`)
    return [table, rows.map((row) => JSON.stringify(row.map(printable))).sort()]
  })
  return JSON.stringify(await Promise.all(contents), null, 1)
}

const printable = (value: unknown) =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
