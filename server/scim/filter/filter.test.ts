import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openBudget } from '../budget.ts'
import { ScimError } from '../errors.ts'
import { groupType } from '../schema/group.ts'
import { userType } from '../schema/user.ts'
import { equalitiesOf } from './equalities.ts'
import { testOf } from './evaluate.ts'
import { parseFilter, parsePath } from './parse.ts'

const ada = {
  id: '0123456789abcdef',
  userName: 'Ada@acme.example',
  externalId: 'Okta-1',
  active: true,
  title: '',
  name: { givenName: 'Ada', familyName: 'Lovelace' },
  emails: [
    { type: 'work', value: 'ada@acme.example', primary: true },
    { type: 'home', value: 'ada@home.example' },
  ],
  'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': {
    department: 'Engines',
    manager: { value: 'm1' },
  },
  meta: { created: '2026-01-31T12:00:00.000Z', resourceType: 'User' },
}

const matches = (filter: string, maxCompared = 1e6) =>
  testOf(userType, parseFilter(filter))(ada, openBudget(maxCompared, 'use eq'))
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

describe('a filter', () => {
  const examples: [filter: string, expected: boolean][] = [
    ['userName eq "ada@ACME.example"', true],
    ['USERNAME Eq "ada@acme.example"', true],
    ['externalId eq "okta-1"', false],
    ['externalId eq "Okta-1"', true],
    ['userName ne "ada@acme.example"', false],
    ['nickName ne "x"', true],
    ['nickName eq null', true],
    ['userName co "ACME"', true],
    ['userName sw "ada@"', true],
    ['userName ew ".example"', true],
    ['userName gt "aaa"', true],
    ['userName le "aaa"', false],
    ['nickName pr', false],
    ['title pr', false],
    ['name pr', true],
    ['active eq true', true],
    ['active eq "True"', true],
    ['active ne true', false],
    ['name.familyName eq "lovelace"', true],
    ['emails eq "ADA@home.example"', true],
    ['emails.type eq "home"', true],
    ['emails[type eq "home"]', true],
    ['emails[type eq "work" and value co "home"]', false],
    ['emails[type eq "work" and primary eq true]', true],
    ['emails[not (type eq "work")]', true],
    ['meta.created gt "2026-01-31T11:59:59Z"', true],
    ['meta.created lt "2026-01-31T12:00:00+00:00"', false],
    [`${enterprise}:department eq "engines"`, true],
    [`${enterprise}:manager.value eq "m1"`, true],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName sw "ada"', true],
    ['userName eq "x" or name.givenName eq "ada" and active eq true', true],
    ['(userName eq "x" or name.givenName eq "ada") and active eq false', false],
    ['not (userName eq "x")', true],
    ['userName eq "a\\u0064a@acme.example"', true],
    ['  userName   eq   "ada@acme.example"  ', true],
  ]
  for (const [filter, expected] of examples)
    test(`${filter} ${expected ? 'matches' : 'does not match'}`, () =>
      assert.equal(matches(filter), expected))

  test('is refused with invalidFilter if it is not valid', () => {
    const wrong = [
      ...['', 'userName', 'userName eq', 'userName eq x', 'userName is "x"', 'eq "x"', '(userName eq "x"'],
      ...[
        'userName eq "x" and',
        'userName eq "x" userName',
        'not userName eq "x"',
        'userName eq "x',
        'a eq \u0000',
      ],
      ...[
        'unknown eq "x"',
        'name.unknown eq "x"',
        'emails[unknown eq "x"]',
        'userName[type eq "x"]',
        'userName[type eq "x"]x',
      ],
      ...[
        'active gt true',
        'active co "t"',
        'userName gt true',
        'meta.created eq "yesterday"',
        '__proto__ eq "x"',
      ],
      ...['emails[type eq "x"', 'emails[emails[type eq "x"]]', 'constructor pr', 'name eq "x"'],
    ]
    for (const filter of wrong)
      assert.throws(
        () => matches(filter),
        (error) => error instanceof ScimError && error.scimType === 'invalidFilter',
        filter,
      )
  })

  test('is limited in length, depth and number of comparisons', () => {
    const deep = (depth: number) => `${'('.repeat(depth)}active eq true${')'.repeat(depth)}`
    const long = (terms: number) => Array(terms).fill('active eq true').join(' or ')
    assert.equal(matches(deep(10)), true)
    assert.equal(matches(long(50)), true)
    for (const filter of [
      deep(11),
      deep(900),
      long(51),
      `userName eq "${'x'.repeat(2000)}"`,
      'not ('.repeat(300),
    ])
      assert.throws(() => matches(filter), ScimError)
  })

  test('is limited in the characters that it compares', () => {
    const emails = ada.emails.reduce((length, { value }) => length + value.length, 0)
    // Each comparison counts 16 characters more, and so does each value.
    const perTerm = emails + 3 * 16
    const filter = Array(50).fill('emails co "x@"').join(' or ')
    assert.equal(matches(filter, 50 * perTerm), false)
    // The terms after a match are not compared.
    assert.equal(matches('emails co "@" or emails co "x@"', perTerm), true)
    for (const expensive of [
      filter,
      filter.replaceAll('co "x@"', 'eq null'),
      'not (title pr)',
      'emails[type pr]',
    ])
      assert.throws(
        () => matches(expensive, 30),
        (error) => error instanceof ScimError && error.scimType === 'tooMany',
        expensive,
      )
  })

  test('tells which equalities every match fulfils', () => {
    const equalities = (filter: string) =>
      equalitiesOf(parseFilter(filter)).map(({ path, value }) => `${path}=${value}`)
    assert.deepEqual(equalities('userName eq "A" and active eq true'), ['username=A'])
    assert.deepEqual(equalities('id eq "1" and members[value eq "2"]'), ['id=1', 'members.value=2'])
    assert.deepEqual(equalities('userName eq "a" or externalId eq "b"'), [])
    assert.deepEqual(equalities('not (userName eq "a")'), [])
  })

  test('can be a part of a path', () => {
    const { attribute, filter, sub } = parsePath('emails[type eq "a]b"].value')
    assert.deepEqual([attribute, sub], ['emails', 'value'])
    assert.deepEqual(filter, { kind: 'compare', path: 'type', operator: 'eq', value: 'a]b' })
    for (const path of ['emails[type eq "x"', 'emails[type eq "x"]value', 'emails[]'])
      assert.throws(() => parsePath(path), ScimError, path)
  })

  test('on a type without the attribute is refused', () => {
    assert.throws(() => testOf(groupType, parseFilter('userName eq "x"')), ScimError)
  })
})
