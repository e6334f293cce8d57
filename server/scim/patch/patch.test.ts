import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ScimType } from '../errors.ts'
import { ScimError } from '../errors.ts'
import type { Resource } from '../schema/schema.ts'
import { userType } from '../schema/user.ts'
import { applyChanges, readChanges } from './apply.ts'

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const work = { type: 'work', value: 'ada@acme.example', primary: true }
const home = { type: 'home', value: 'ada@home.example' }

const ada = (): Resource => ({
  ...{ userName: 'ada', active: true, name: { givenName: 'Ada', familyName: 'L' }, emails: [work, home] },
})

const patchOf = (...Operations: unknown[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})

const patched = (...operations: unknown[]) =>
  applyChanges(ada(), readChanges(userType, patchOf(...operations)))

const refused = (scimType: ScimType, ...operations: unknown[]) =>
  assert.throws(
    () => patched(...operations),
    (error) => error instanceof ScimError && error.status === 400 && error.scimType === scimType,
    JSON.stringify(operations).slice(0, 300),
  )

describe('a PATCH', () => {
  test('sets, replaces and removes simple attributes, with op and path in any letter case', () => {
    assert.equal(patched({ op: 'add', path: 'title', value: 'Countess' }).title, 'Countess')
    assert.equal(patched({ op: 'Replace', path: 'USERNAME', value: 'lovelace' }).userName, 'lovelace')
    assert.equal('active' in patched({ op: 'REMOVE', path: 'active' }), false)
    assert.equal(patched({ op: 'Replace', path: 'active', value: 'False' }).active, false)
    assert.equal(patched({ op: 'replace', path: 'title', value: null }).title, undefined)
  })

  test('merges complex attributes and changes their parts', () => {
    const both = { givenName: 'Augusta', familyName: 'L' }
    assert.deepEqual(patched({ op: 'replace', path: 'name', value: { givenName: 'Augusta' } }).name, both)
    assert.deepEqual(patched({ op: 'replace', path: 'name.givenName', value: 'Augusta' }).name, both)
    assert.deepEqual(patched({ op: 'remove', path: 'name.givenName' }).name, { familyName: 'L' })
    assert.equal(
      patched({ op: 'remove', path: 'name.givenName' }, { op: 'remove', path: 'name.familyName' }).name,
      undefined,
    )
  })

  test('without a path takes attribute names, paths and URNs as the keys of its value', () => {
    const result = patched({
      op: 'Replace',
      value: {
        active: 'False',
        'name.givenName': 'Augusta',
        'emails[type eq "work"].value': 'augusta@acme.example',
        [`${enterprise}:department`]: 'Engines',
        [enterprise]: { costCenter: '42', schemas: [enterprise] },
        'urn:ietf:params:scim:schemas:core:2.0:User:title': 'Countess',
        id: 'ignored',
      },
    })
    assert.deepEqual(result, {
      ...{ userName: 'ada', active: false, title: 'Countess' },
      name: { givenName: 'Augusta', familyName: 'L' },
      emails: [{ ...work, value: 'augusta@acme.example' }, home],
      [enterprise]: { department: 'Engines', costCenter: '42' },
    })
  })

  test('adds values to a list once, and keeps one primary value', () => {
    const other = { type: 'other', value: 'a@b.example', primary: true }
    assert.deepEqual(patched({ op: 'add', path: 'emails', value: [home] }).emails, [work, home])
    const third = { type: 'other', value: 'c@d.example' }
    assert.deepEqual(patched({ op: 'add', path: 'emails', value: [third, third] }).emails, [
      work,
      home,
      third,
    ])
    assert.deepEqual(patched({ op: 'add', path: 'emails', value: other }).emails, [
      ...[{ ...work, primary: false }, home, other],
    ])
    assert.deepEqual(
      patched({ op: 'replace', path: 'emails[type eq "home"].primary', value: 'True' }).emails,
      [
        ...[
          { ...work, primary: false },
          { ...home, primary: true },
        ],
      ],
    )
    assert.deepEqual(patched({ op: 'replace', path: 'emails', value: [other] }).emails, [other])
  })

  test('selects values of a list by a filter', () => {
    assert.deepEqual(patched({ op: 'remove', path: 'emails[type eq "home"]' }).emails, [work])
    assert.deepEqual(patched({ op: 'remove', path: 'emails[value co "@"]' }).emails, undefined)
    assert.deepEqual(patched({ op: 'remove', path: 'emails[type eq "work"].primary' }).emails, [
      ...[{ type: 'work', value: 'ada@acme.example' }, home],
    ])
    assert.deepEqual(patched({ op: 'remove', path: 'emails', value: [{ value: home.value }] }).emails, [work])
    assert.deepEqual(patched({ op: 'remove', path: 'emails', value: [{ type: 'home' }] }).emails, [work])
    const replaced = {
      op: 'replace',
      path: 'emails[type eq "home"]',
      value: { type: 'home', value: 'x@y.example' },
    }
    assert.deepEqual(patched(replaced).emails, [work, { type: 'home', value: 'x@y.example' }])
  })

  test('creates the value that a filter describes, as Entra expects', () => {
    const mobile = { type: 'mobile', value: '+44 1' }
    for (const op of ['Add', 'Replace'])
      assert.deepEqual(
        patched({ op, path: 'phoneNumbers[type eq "mobile"].value', value: '+44 1' }).phoneNumbers,
        [mobile],
      )
    assert.deepEqual(patched({ op: 'Add', path: 'roles[primary eq "True"].value', value: 'admin' }).roles, [
      { primary: true, value: 'admin' },
    ])
    for (const path of [
      'phoneNumbers.value',
      'phoneNumbers[type eq "work"].value',
      'roles[primary eq true].value',
    ])
      for (const op of ['add', 'replace'])
        assert.deepEqual(patched({ op, path, value: null }), ada(), 'null creates nothing')
    refused('noTarget', { op: 'replace', path: 'phoneNumbers[type eq "fax"]', value: mobile })
    refused('noTarget', { op: 'replace', path: 'phoneNumbers[type co "fax"].value', value: '1' })
    refused('noTarget', { op: 'remove', path: 'phoneNumbers[type eq "fax"]' })
  })

  test('changes extensions', () => {
    const manager = { op: 'Add', path: `${enterprise}:manager`, value: 'abc' }
    const withManager = patched(manager)
    assert.deepEqual(withManager[enterprise], { manager: { value: 'abc' } })
    const changes = readChanges(userType, patchOf({ op: 'remove', path: enterprise }))
    assert.equal(applyChanges(withManager, changes)[enterprise], undefined)
  })

  test('is refused with the reason', () => {
    refused('invalidPath', { op: 'add', path: 'unknown', value: 'x' })
    refused('invalidPath', { op: 'add', path: 'userName[type eq "x"]', value: 'x' })
    refused('invalidPath', { op: 'add', path: 'name.unknown', value: 'x' })
    refused('invalidPath', { op: 'add', value: { unknown: 'x' } })
    refused('mutability', { op: 'replace', path: 'id', value: 'x' })
    refused('mutability', { op: 'add', path: 'groups', value: [{ value: 'x' }] })
    refused('mutability', { op: 'replace', path: 'meta.created', value: 'x' })
    refused('noTarget', { op: 'remove' })
    for (const path of ['title', 'name', 'name.familyName', 'emails', 'emails[type eq "home"].value'])
      refused('invalidValue', { op: 'add', path })
    refused('invalidValue', { op: 'add', path: `${enterprise}:manager.value` })
    refused('invalidValue', { op: 'replace', path: 'active', value: 'perhaps' })
    refused('invalidValue', { op: 'replace', path: 'emails', value: [1] })
    refused('invalidValue', { op: 'replace', value: 'x' })
    refused('invalidSyntax', { op: 'move', path: 'title', value: 'x' })
    refused('invalidSyntax')
    refused('invalidSyntax', ...Array(1001).fill({ op: 'remove', path: 'title' }))
    assert.throws(() => readChanges(userType, { Operations: [{ op: 'remove', path: 'title' }] }), ScimError)
  })

  test('is refused if its operations compare too much text', () => {
    const emails = Array.from({ length: 100 }, (_, at) => ({ value: `${at}${'x'.repeat(570)}` }))
    const terms = Array.from({ length: 49 }, (_, at) => `value co "A${at}"`).join(' or ')
    const replacement = {
      op: 'replace',
      path: `emails[${terms} or type eq "work"].type`,
      value: 'work',
    }
    const filled = { op: 'replace', path: 'emails', value: [...emails.slice(1), work] }
    refused('tooMany', filled, ...Array(199).fill(replacement))
    // One operation can put its text into every value of a list.
    const growth = { op: 'replace', path: 'emails.display', value: 'x'.repeat(16_000) }
    refused(
      'tooMany',
      { ...filled, value: emails.slice(1) },
      growth,
      ...Array(50).fill({ op: 'add', path: 'emails', value: work }),
    )
    const usual = { op: 'replace', path: 'emails[type eq "work" and primary eq true].value', value: 'x' }
    assert.equal((patched(filled, ...Array(199).fill(usual)).emails as Resource[]).at(-1)?.value, 'x')
  })

  test('never reaches the prototype of objects', () => {
    for (const path of ['__proto__.polluted', 'constructor.prototype.polluted', '__proto__'])
      refused('invalidPath', { op: 'add', path, value: 'x' })
    const value = JSON.parse('{"givenName": "A", "__proto__": {"polluted": true}}')
    assert.deepEqual(patched({ op: 'replace', path: 'name', value }).name, {
      givenName: 'A',
      familyName: 'L',
    })
    refused('invalidPath', { op: 'add', value: JSON.parse('{"__proto__": {"polluted": true}}') })
    assert.equal(({} as { polluted?: boolean }).polluted, undefined)
  })

  test('leaves the original as it was', () => {
    const original = ada()
    const changes = readChanges(userType, patchOf({ op: 'remove', path: 'emails[type eq "home"].value' }))
    applyChanges(original, changes)
    assert.deepEqual(original, ada())
  })
})
