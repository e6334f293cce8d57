import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  EolGracePeriodStatus,
  EolTagStatus,
  PackageVersionSchema,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { graceOf, isEndOfLife, packageNamesOf, versionOfTag } from './end-of-life.ts'

const version = (name: string, eolDate = '', eolBroken = false) =>
  create(PackageVersionSchema, { version: name, eolDate, eolBroken })
const at = (date: string) => Date.parse(date)

describe('the version of a tag', () => {
  const versions = ['3', '3.1', '3.12', '17'].map((name) => version(name))
  test('is the longest one with which the tag begins', () => {
    for (const [tag, expected] of [
      ['3.12', '3.12'],
      ['3.12.4', '3.12'],
      ['3.12-dev', '3.12'],
      ['v3.12_1', '3.12'],
      ['3.1', '3.1'],
      ['3.123', '3'],
      ['3', '3'],
      ['17-r3', '17'],
      ['170', undefined],
      ['latest', undefined],
      ['', undefined],
    ] as const)
      assert.equal(versionOfTag(tag, versions)?.version, expected, tag)
  })

  test('belongs to a package that is named like the last part of the repo, with or without -fips', () => {
    assert.deepEqual(packageNamesOf('python'), ['python'])
    assert.deepEqual(packageNamesOf('tools/python-fips'), ['python-fips', 'python'])
  })
})

describe('the end of life', () => {
  test('begins with its day in UTC, and never without a date', () => {
    assert.equal(isEndOfLife(version('3', '2026-01-31'), at('2026-01-30T23:59:59.999Z')), false)
    assert.equal(isEndOfLife(version('3', '2026-01-31'), at('2026-01-31T00:00:00Z')), true)
    assert.equal(isEndOfLife(version('3'), at('2999-01-01T00:00:00Z')), false)
  })

  test('is followed by a grace period, if the package has one and the repo enables it', () => {
    const { TAG_ACTIVE, TAG_IN_GRACE, TAG_INACTIVE } = EolTagStatus
    const { GRACE_NOT_ELIGIBLE, GRACE_ELIGIBLE, GRACE_ACTIVE, GRACE_BROKEN, GRACE_EXPIRED } =
      EolGracePeriodStatus
    const [before, during, after] = [at('2026-01-30'), at('2026-02-01'), at('2026-08-01')]
    const ended = version('3', '2026-01-31')
    const months = { gracePeriodMonths: 6 }
    // Six months after 31 January. In the last line, one month after 31 January is 3 March, as there is no 31 February.
    const expiry = at('2026-07-31')
    assert.deepEqual(graceOf(ended, months, true, before), {
      tagStatus: TAG_ACTIVE,
      graceStatus: GRACE_NOT_ELIGIBLE,
    })
    assert.deepEqual(graceOf(ended, months, true, during), {
      tagStatus: TAG_IN_GRACE,
      graceStatus: GRACE_ACTIVE,
      expiry,
    })
    assert.deepEqual(graceOf(ended, months, false, during), {
      tagStatus: TAG_INACTIVE,
      graceStatus: GRACE_ELIGIBLE,
      expiry,
    })
    assert.deepEqual(graceOf(ended, months, true, after), {
      tagStatus: TAG_INACTIVE,
      graceStatus: GRACE_EXPIRED,
      expiry,
    })
    const none = { gracePeriodMonths: 0 }
    assert.deepEqual(graceOf(ended, none, true, during), {
      tagStatus: TAG_INACTIVE,
      graceStatus: GRACE_NOT_ELIGIBLE,
    })
    const broken = version('3', '2026-01-31', true)
    assert.deepEqual(graceOf(broken, months, true, during), {
      tagStatus: TAG_INACTIVE,
      graceStatus: GRACE_BROKEN,
    })
    assert.equal(graceOf(ended, { gracePeriodMonths: 1 }, true, during).expiry, at('2026-03-03'))
  })
})
