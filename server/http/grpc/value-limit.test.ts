import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { BatchCheckAccessRequestSchema } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { AccountAssociationSchema } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { describeMethod } from '@stemma/api/method.ts'
import { Code } from '../../aip/code.ts'
import { declareMessages } from '../../testing/declared-messages.ts'
import { decode } from './decode.ts'
import { hasTooManyValues, maxValues } from './value-limit.ts'

const sample = declareMessages(
  {
    Sample: {
      text: 'string',
      number: 'int32',
      texts: { type: 'string', list: true },
      numbers: { type: 'int64', list: true },
      ratios: { type: 'double', list: true },
      colors: { type: 'Color', list: true },
      inner: 'Sample',
      inners: { type: 'Sample', list: true },
      labels: { type: 'string', key: 'string' },
      by_number: { type: 'Sample', key: 'int64' },
    },
  },
  { Color: { COLOR_UNSPECIFIED: 0, RED: 1 } },
)('Sample')

const bytesOf = (init: MessageInitShape<typeof sample>) => toBinary(sample, create(sample, init))
/** Follows other fields, so that a message is longer than `maxValues` bytes. It is one value. */
const padding = bytesOf({ text: 'x'.repeat(maxValues) })
const padded = (...parts: Uint8Array[]) => Buffer.concat([...parts, padding])
const repeated = (part: number[], times: number) => Buffer.alloc(part.length * times, Buffer.from(part))
const tag = (name: string, wireType: WireType) =>
  new BinaryWriter().tag(sample.fields.find((field) => field.name === name)?.number ?? 0, wireType).finish()
const sized = (name: string, bytes: Uint8Array) =>
  Buffer.concat([tag(name, WireType.LengthDelimited), new BinaryWriter().bytes(bytes).finish()])

describe('the limit of values in a message', () => {
  const fill = <T>(count: number, value: T) => Array<T>(count).fill(value)
  for (const [what, message] of Object.entries({
    'elements of a list of texts': (count: number) => bytesOf({ texts: fill(count, '') }),
    'packed numbers': (count: number) => bytesOf({ numbers: fill(count - 1, 300n) }),
    'packed enums': (count: number) => bytesOf({ colors: fill(count - 1, 1) }),
    'packed numbers of a fixed size': (count: number) => bytesOf({ ratios: fill(count - 1, 1.5) }),
    'numbers that are not packed': (count: number) =>
      repeated([...tag('numbers', WireType.Varint), 1], count),
    messages: (count: number) => bytesOf({ inners: fill(count, {}) }),
    'fields of nested messages': (count: number) =>
      bytesOf({ inner: { inner: { texts: fill(count - 2, 'x') } } }),
    'entries of a map, with key and value': (count: number) =>
      padded(
        bytesOf({ texts: fill((count - 1) % 3, '') }),
        ...fill(
          Math.floor((count - 1) / 3),
          sized('labels', Buffer.concat([sized('text', Buffer.of()), Buffer.from([0x12, 0])])),
        ),
      ),
    'fields of messages in a map': (count: number) =>
      bytesOf({ byNumber: { 1: { texts: fill(count - 3, 'x') } } }),
    'unknown fields': (count: number) => repeated([0xf8, 0x07, 0], count),
    'the same field again and again': (count: number) =>
      repeated([...tag('number', WireType.Varint), 1], count),
  })) {
    test(`counts ${what}`, () => {
      const largest = message(maxValues)
      assert.ok(largest.length > maxValues, `${largest.length} bytes`)
      assert.equal(hasTooManyValues(sample, largest), false)
      assert.ok(fromBinary(sample, largest))
      assert.equal(hasTooManyValues(sample, message(maxValues + 1)), true)
    })
  }

  test('cannot be evaded by bytes that protobuf-es reads in another way', () => {
    const hidden = repeated([...tag('inners', WireType.LengthDelimited), 0], maxValues + 1)
    const sizedNumber = sized('number', hidden)
    const inEntry = sized('labels', sized('texts', hidden))
    const group = Buffer.concat([Buffer.from([0xfb, 0x07]), hidden, Buffer.from([0xfc, 0x07])])
    const number = Buffer.concat([tag('text', WireType.Varint), Buffer.from([5])])
    for (const bytes of [sizedNumber, inEntry, group, number])
      assert.throws(() => hasTooManyValues(sample, padded(bytes)))
  })

  test('refuses messages that end too early or are nested too deeply', () => {
    const full = padded(bytesOf({ inner: { texts: ['a'] } }))
    assert.throws(() => hasTooManyValues(sample, full.subarray(0, -1)))
    let nested = padding
    for (let depth = 0; depth < 101; depth++) nested = sized('inner', nested)
    assert.throws(() => hasTooManyValues(sample, nested))
  })

  test('does not refuse the largest requests that the contract allows', () => {
    const installations = Array.from({ length: 1000 }, (_, at) => ({
      installationId: BigInt(at + 1),
      name: 'acme',
    }))
    const apps = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [at + 1, { installations }]))
    const largest = toBinary(
      AccountAssociationSchema,
      create(AccountAssociationSchema, { github: { appInstallations: apps } }),
    )
    assert.ok(largest.length > maxValues)
    assert.equal(hasTooManyValues(AccountAssociationSchema, largest), false)
    const questions = Array.from({ length: 1000 }, () => ({ resource: 'a'.repeat(100) }))
    const batch = toBinary(
      BatchCheckAccessRequestSchema,
      create(BatchCheckAccessRequestSchema, { questions }),
    )
    assert.ok(batch.length > maxValues)
    assert.equal(hasTooManyValues(BatchCheckAccessRequestSchema, batch), false)
  })

  test('is an error that says what to do', () => {
    const { exchange } = SecurityTokenService.method
    const caps = (count: number) => repeated([0x2a, 0], count)
    const request = decode(describeMethod(exchange), caps(maxValues)) as unknown as { cap: string[] }
    assert.equal(request.cap.length, maxValues)
    assert.throws(() => decode(describeMethod(exchange), caps(maxValues + 1)), {
      code: Code.RESOURCE_EXHAUSTED,
      message: 'Resource exhausted: a message must have at most 50000 values; send several smaller requests',
    })
  })
})
