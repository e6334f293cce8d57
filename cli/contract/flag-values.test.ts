import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { UsageError } from '../failure.ts'
import { commandOf } from './commands.ts'
import { parseFlagValue } from './flag-values.ts'
import { flagsOf } from './request-flags.ts'
import { parseDuration, parseTime } from './time-values.ts'

const now = Date.parse('2026-01-31T12:00:00Z')

function json(resource: string, verb: string, flagName: string, ...texts: string[]) {
  const flag = flagsOf(commandOf(resource, verb)).find(({ name }) => name === flagName)
  assert.ok(flag, `no flag --${flagName}`)
  return parseFlagValue(flag.field, texts, now)
}

describe('the value of a flag', () => {
  test('can be the short or the long name of an enum value, in upper or lower case', () => {
    for (const text of ['fixed', 'FIXED', 'event-type-filter-fixed', 'EVENT_TYPE_FILTER_FIXED'])
      assert.equal(json('advisories', 'list', 'latest-event-type', text), 'EVENT_TYPE_FILTER_FIXED')
    assert.deepEqual(json('roles', 'create', 'capabilities', 'groups.list,CAP_REPO_LIST', 'tag.list'), [
      'CAP_IAM_GROUPS_LIST',
      'CAP_REPO_LIST',
      'CAP_TAG_LIST',
    ])
    assert.throws(
      () => json('repos', 'create', 'catalog-tier', 'gold'),
      /must be application, base, .* or commercial, not "gold"/,
    )
    assert.throws(
      () => json('roles', 'create', 'capabilities', 'groups.fly'),
      /similar values: groups\.create, groups\.update, /,
    )
  })

  test('is one element of a list of strings, even with a comma, or one entry of a map, split at the first =', () => {
    assert.deepEqual(json('repos', 'create', 'aliases', 'a:1,2', 'b:2'), ['a:1,2', 'b:2'])
    assert.deepEqual(json('identities', 'create', 'claim-match.claims', 'a=b=c', 'd='), { a: 'b=c', d: '' })
    assert.throws(() => json('identities', 'create', 'claim-match.claims', 'a'), /must be key=value, not "a"/)
  })

  test('is converted to the JSON of numbers, durations, times and masks', () => {
    assert.equal(json('groups', 'list', 'page-size', '5'), 5)
    assert.throws(() => json('groups', 'list', 'page-size', '5x'), /must be a whole number/)
    assert.equal(json('group-invites', 'create', 'ttl', '1d 12h'), '129600s')
    assert.equal(json('tags', 'list', 'updated-since', '24h'), '2026-01-30T12:00:00.000Z')
    assert.equal(
      json('identities', 'create', 'static-keys.expiration-time', '24h'),
      '2026-02-01T12:00:00.000Z',
    )
    assert.equal(
      json('identities', 'update', 'update-mask', 'claim_match.issuer,name'),
      'claimMatch.issuer,name',
    )
  })
})

describe('a time', () => {
  test('is a date, a date with time, or relative to now', () => {
    assert.equal(parseTime('2026-01-31', now, true), '2026-01-31T00:00:00.000Z')
    assert.equal(parseTime('2026-01-31T12:00:00+01:00', now, true), '2026-01-31T11:00:00.000Z')
    assert.equal(parseTime('2h ago', now, false), '2026-01-31T10:00:00.000Z')
    assert.equal(parseTime('in 2h', now, true), '2026-01-31T14:00:00.000Z')
    for (const wrong of ['', 'soon', '2026', '2026-13-01', '99999999999w', 'in 2h ago'])
      assert.throws(() => parseTime(wrong, now, true), UsageError, wrong)
  })

  test('is in UTC unless it has an offset, wherever the command runs', () => {
    const { TZ } = process.env
    process.env.TZ = 'America/New_York'
    try {
      assert.equal(new Date(now).getHours(), 7)
      for (const text of [
        '2026-01-31',
        '2026-01-31 00:00',
        '2026-01-31T00:00:00',
        '2026-01-30T19:00:00-05:00',
      ])
        assert.equal(parseTime(text, now, true), '2026-01-31T00:00:00.000Z', text)
      assert.equal(parseTime('2026-01-31 12:30:15.5', now, true), '2026-01-31T12:30:15.500Z')
    } finally {
      if (TZ === undefined) delete process.env.TZ
      else process.env.TZ = TZ
    }
  })

  test('is on a day that exists', () => {
    assert.equal(parseTime('2028-02-29', now, true), '2028-02-29T00:00:00.000Z')
    assert.equal(parseTime('2026-02-28T23:30:00-05:00', now, true), '2026-03-01T04:30:00.000Z')
    for (const wrong of [
      '2026-02-29',
      '2026-02-31',
      '2026-04-31T12:00:00Z',
      '2026-02-30 12:00',
      '2026-01-00',
    ])
      assert.throws(() => parseTime(wrong, now, true), UsageError, wrong)
  })
})

test('the parts of a duration are added up', () => {
  const units = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }
  const part = fc.tuple(fc.nat(1000), fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])))
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
      const sum = parts.reduce((total, [count, unit]) => total + count * units[unit], 0)
      assert.equal(parseDuration(parts.map(([count, unit]) => `${count}${unit}`).join(' ')), `${sum}s`)
    }),
  )
  for (const wrong of ['', '24', 'h', '1x', '-5m']) assert.throws(() => parseDuration(wrong), UsageError)
})
