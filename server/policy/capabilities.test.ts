import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { CapabilitySchema } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { allCapabilities, capabilityNamed, capabilityOf, nameOf } from './capabilities.ts'

/** Capabilities with greater numbers are our own. */
const lastPublishedNumber = 10_000
const published = allCapabilities.filter(({ number }) => number <= lastPublishedNumber)

describe('capabilities', () => {
  test('include all 216 that published clients know', () => assert.equal(published.length, 216))

  test('have distinct numbers, names and bits', () => {
    for (const key of ['number', 'name', 'bit'] as const) {
      assert.equal(
        new Set(allCapabilities.map((capability) => capability[key])).size,
        allCapabilities.length,
        key,
      )
    }
    for (const { name, bit } of allCapabilities) {
      assert.match(name, /^[a-z_]+(\.[a-z_]+)*$/)
      assert.ok(bit > 0 && bit < 256, name)
    }
  })

  test('do not use the reserved numbers', () => {
    for (const number of [1, 1601, 1602, 1873]) assert.equal(capabilityOf(number), undefined)
  })

  test('have the published numbers, names and bits, which tokens and roles of clients contain', () => {
    const lines = published
      .toSorted((a, b) => a.number - b.number)
      .map(
        ({ number, name, bit, internalOnly }) =>
          `${number} ${CapabilitySchema.value[number]?.name} ${name} ${bit} ${internalOnly}`,
      )
    assert.equal(lines[1], '101 CAP_IAM_GROUPS_CREATE groups.create 1 false')
    assert.equal(lines.at(-1), '10000 CAP_GULFSTREAM gulfstream 47 false')
    assert.equal(
      createHash('sha256').update(lines.join('\n')).digest('hex'),
      '2410040c070be97d288b3df67e26a83ae501b251ad737cbecc306086f76b3f58',
    )
  })

  test('are found by number and by name', () => {
    for (const capability of allCapabilities) {
      assert.equal(capabilityOf(capability.number), capability)
      assert.equal(capabilityNamed(capability.name), capability)
      assert.equal(nameOf(capability.number), capability.name)
    }
  })

  test('are not found by an unknown number or name', () => {
    for (const number of [0, -1, 0.5, Number.NaN, 2 ** 31]) assert.equal(capabilityOf(number), undefined)
    for (const name of ['', 'iam.groups.list', 'Groups.list', '__proto__', 'constructor']) {
      assert.equal(capabilityNamed(name), undefined)
    }
    assert.equal(nameOf(99999), 'capability 99999')
  })

  test('have the flag internal_only if they are reserved for the platform', () => {
    assert.equal(capabilityNamed('internal')?.internalOnly, false)
    assert.equal(capabilityNamed('repo.internal.admin')?.internalOnly, true)
    assert.equal(published.filter(({ internalOnly }) => internalOnly).length, 40)
  })
})
