// Invalid queries and paths get the documented error and leave the store unchanged.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Code } from '../../server/aip/code.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { AttackedPlatform, RestCase, RestRequest } from './hostile.ts'
import { assertAllRefused as assertAllRefusedBy, startAttackedPlatform } from './hostile.ts'

const groups = '/iam/v2beta1/groups'
const invalid = Code.INVALID_ARGUMENT
const notFound = Code.NOT_FOUND
const unimplemented = Code.UNIMPLEMENTED
const emoji = '😀'

onEachStore('hostile URLs are refused', (engine) => {
  let attacked: AttackedPlatform
  before(async () => {
    // Otherwise a list with the largest `skip` starts the lane, which takes more than a second of CPU time.
    attacked = await startAttackedPlatform(engine, [], { maxListRows: 2 ** 32 })
  })
  after(() => attacked.stop())

  const assertAllRefused = (cases: RestCase[]) => assertAllRefusedBy(attacked, cases)
  const list = (query: string): RestRequest => ({ target: `${groups}?${query}` })
  const patch = (query: string): RestRequest => ({
    verb: 'PATCH',
    target: `${groups}/${attacked.group}${query}`,
    body: '{"description":"changed"}',
  })

  describe('in a query', () => {
    test('malformed numbers and numbers out of range', () =>
      assertAllRefused(
        ['page_size', 'skip'].flatMap((name) =>
          [
            '-1',
            '-2147483648',
            '2147483648',
            '-2147483649',
            '99999999999999999999',
            '1.5',
            '1e3',
            '0x10',
            '',
            'x',
            '%20',
            '١',
          ].map(
            (value): RestCase => [
              `${name}=${value}`,
              list(`${name}=${encodeURI(decodeURI(value))}`),
              invalid,
              { field: name },
            ],
          ),
        ),
      ))

    test('invalid orders', () =>
      assertAllRefused(
        [
          'nope',
          'name sideways',
          'name desc desc',
          'name,,uid',
          ',',
          'name;uid',
          'name desc, name',
          'proto',
          'root',
          '(select 1)',
          "name'--",
          'name\0',
          '\u0001',
          'name,'.repeat(500),
          'description',
          'name.x',
        ].map(
          (order): RestCase => [
            order,
            list(`order_by=${encodeURIComponent(order)}`),
            invalid,
            { field: 'order_by' },
          ],
        ),
      ))

    test('forged page tokens and tokens of another list', async () => {
      const { organization } = attacked.platform.owner
      const page = await attacked.rest(list('page_size=1'))
      const token = String(JSON.parse(page.body).nextPageToken)
      const flipped = (at: number) =>
        token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
      const bad = [
        'x',
        '!',
        '%00',
        'AAAA',
        'A'.repeat(100),
        'A'.repeat(5000),
        token.slice(1),
        token.slice(0, -4),
        `${token}AAAA`,
        ...[0, 11, 20, 50, token.length - 2].map(flipped),
      ]
      await assertAllRefused([
        ...bad.map((text): RestCase => [text, list(`page_token=${text}`), invalid, { field: 'page_token' }]),
        ['other filter', list(`page_token=${token}&name=x`), invalid, { field: 'page_token' }],
        [
          'other region',
          list(`page_token=${token}&uidp.children_of=${organization}`),
          invalid,
          { field: 'page_token' },
        ],
        ['other order', list(`page_token=${token}&order_by=name`), invalid, { field: 'page_token' }],
      ])
    })

    test('several values for one parameter', () =>
      assertAllRefused([
        ['twice', list('page_size=1&page_size=1'), invalid, { field: 'page_size' }],
        ['in both spellings', list('page_size=1&pageSize=1'), invalid, { field: 'page_size' }],
        [
          'nested',
          list(`uidp.children_of=${'a'.repeat(40)}&uidp.childrenOf=${'a'.repeat(40)}`),
          invalid,
          { field: 'uidp.children_of' },
        ],
        ['names', list('name=a&name=b'), invalid, { field: 'name' }],
      ]))

    test('malformed escapes, separators and control characters', () =>
      assertAllRefused([
        ...[
          '%',
          '%z',
          '%zz',
          'name=%',
          'name=%e4',
          'name=%c0%80',
          'name=%ed%a0%80',
          '%ff=x',
          'name=x;skip=1',
        ].map((query): RestCase => [query, list(query)]),
        ['NUL in a name', list('name=%00'), invalid, { field: 'name' }],
        ['NUL within a name', list('name=a%00b'), invalid, { field: 'name' }],
        ['NUL in a uid', list('uidp.children_of=%00'), invalid, { field: 'uidp.children_of' }],
      ]))

    test('malformed uids', () =>
      assertAllRefused(
        [
          'x',
          'A'.repeat(40),
          'a'.repeat(39),
          'a'.repeat(41),
          `${'a'.repeat(40)}/`,
          `${'a'.repeat(40)}/x`,
          '../..',
          '%2e%2e',
        ].flatMap((uid) =>
          ['children_of', 'descendants_of', 'ancestors_of'].map(
            (name): RestCase => [
              `${name}=${uid}`,
              list(`uidp.${name}=${uid}`),
              invalid,
              { field: `uidp.${name}` },
            ],
          ),
        ),
      ))

    test('too many ids, malformed ids and too many parameters', () => {
      // Sent in a body, because a URL with so many parameters would be too long.
      const form = (body: string): RestRequest => ({
        verb: 'POST',
        target: groups,
        body,
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-http-method-override': 'GET' },
      })
      const id = `uidp.ids=${'a'.repeat(40)}&`
      return assertAllRefused([
        ['1001 ids', form(id.repeat(1001).slice(0, -1)), invalid, { field: 'uidp.ids' }],
        ['10,000 parameters', form('x=1&'.repeat(10_000))],
        ['malformed ids', form('uidp.ids=x&uidp.ids=y')],
      ])
    })

    test('masks with unknown fields', () =>
      assertAllRefused(
        [
          'nope',
          'name,nope',
          'name.x',
          'resource_limits.x',
          '*,name',
          '**',
          'uid/name',
          '__proto__',
          'groups[0]',
          'a,'.repeat(300),
        ].map((mask): RestCase => [mask, patch(`?updateMask=${mask}`), invalid, { field: 'updateMask' }]),
      ))

    test('a mask with NUL', () => assertAllRefused([['NUL', patch('?updateMask=description%00')]]))
  })

  describe('in a path', () => {
    test('malformed escapes', () =>
      assertAllRefused(
        ['%', '%z', '%zz', '%e4', '%c0%80', '%ed%a0%80', `${'a'.repeat(40)}%`].flatMap((uid): RestCase[] =>
          ['GET', 'DELETE', 'PATCH', 'POST'].map(
            (verb): RestCase => [`${verb} ${uid}`, { verb, target: `${groups}/${uid}` }],
          ),
        ),
      ))

    test('impossible uids', () =>
      assertAllRefused(
        [
          'x',
          'A'.repeat(40),
          'a'.repeat(39),
          '..',
          '../../etc/passwd',
          '%2e%2e/%2e%2e',
          '%2E%2E%2F%2E%2E',
          '%00',
          '%01',
          encodeURI(emoji),
          `${'a'.repeat(40)}/`,
          `${'a'.repeat(40)}//`,
          'a'.repeat(40) + '/0123456789abcdef'.repeat(65),
          '%20',
        ].flatMap((uid): RestCase[] =>
          ['GET', 'DELETE', 'PATCH'].map(
            (verb): RestCase => [`${verb} ${uid}`, { verb, target: `${groups}/${uid}` }, notFound],
          ),
        ),
      ))

    test('missing uids', () =>
      assertAllRefused([
        ['get', { target: `${groups}/` }, invalid, { field: 'uid' }],
        ['delete', { verb: 'DELETE', target: groups }, unimplemented, { http: 405 }],
        ['delete with a slash', { verb: 'DELETE', target: `${groups}/` }, invalid, { field: 'uid' }],
        ['patch', { verb: 'PATCH', target: groups, body: '{"name":"x"}' }, unimplemented, { http: 405 }],
        [
          'patch with a slash',
          { verb: 'PATCH', target: `${groups}/`, body: '{"name":"x"}' },
          invalid,
          { field: 'uid' },
        ],
      ]))

    test('paths and methods that are not served', async () => {
      await assertAllRefused([
        ...[
          '/',
          '/iam',
          '/iam/v2beta1',
          '/iam/v2beta1/groupz',
          '/iam/v3/groups',
          '//iam/v2beta1/groups',
          '/IAM/v2beta1/groups',
          '/.well-known/nothing',
          '/iam/v2beta1/groups:nothing',
        ].map((target): RestCase => [target, { target }, notFound]),
        ...['PUT', 'TRACE', 'PROPFIND'].map(
          (verb): RestCase => [
            verb,
            { verb, target: `${groups}/${attacked.group}` },
            unimplemented,
            { http: 405 },
          ],
        ),
        ['PUT on the list', { verb: 'PUT', target: groups }, unimplemented, { http: 405 }],
      ])
    })

    test('bytes that are not allowed in a path', () =>
      assertAllRefused(
        ['00', '01', '7f', 'ff', 'c3a4', '2020', '0b'].map((hex): RestCase => {
          const target = Buffer.concat([Buffer.from(`${groups}/`), Buffer.from(hex, 'hex')])
          return [hex, { target }]
        }),
      ))
  })

  test('unusual but valid values are accepted', async () => {
    for (const query of [
      'page_size=2147483647',
      'skip=2147483647',
      'page_size=0',
      'page_size=%2B5',
      'page_token=&order_by=',
    ])
      assert.equal((await attacked.rest(list(query))).status, 200, query)
  })
})
