import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { describeMethod, describeMethods } from '@stemma/api/method.ts'
import { StatusError } from '../../aip/errors.ts'
import type { Endpoint } from '../door.ts'
import { makeRoutes, splitPath } from './routes.ts'

const groups = makeRoutes(describeMethods(GroupsService).map((method) => ({ method })))

/** The name of the method of a path, and the fields that the path fills. */
function matchOf(verb: string, path: string, routes = groups): [string, Record<string, string>] | undefined {
  const match = routes.match(verb, splitPath(path))
  return match && [match.route.endpoint.method.desc.name, Object.fromEntries(match.fields)]
}

const verbsOf = (path: string, routes = groups) => [...routes.find(splitPath(path)).keys()].sort()

describe('the routes of groups', () => {
  test('match the bare collection with List, not with Get', () => {
    assert.deepEqual(matchOf('GET', '/iam/v2beta1/groups'), ['ListGroups', {}])
    assert.deepEqual(matchOf('GET', '/iam/v2beta1/groups/a/b'), ['GetGroup', { uid: 'a/b' }])
  })

  test('do not ignore a trailing slash', () => {
    assert.deepEqual(matchOf('GET', '/iam/v2beta1/groups/'), ['GetGroup', { uid: '' }])
    assert.deepEqual(matchOf('GET', '/iam/v2beta1/groups/a/'), ['GetGroup', { uid: 'a/' }])
  })

  test('match Create without a parent, for organizations', () => {
    assert.deepEqual(matchOf('POST', '/iam/v2beta1/groups'), ['CreateGroup', { parent: '' }])
    assert.deepEqual(matchOf('POST', '/iam/v2beta1/groups/a'), ['CreateGroup', { parent: 'a' }])
  })

  test('do not match PATCH and DELETE of the collection, which are methods of a resource', () => {
    for (const verb of ['PATCH', 'DELETE']) assert.equal(matchOf(verb, '/iam/v2beta1/groups'), undefined)
    assert.deepEqual(matchOf('DELETE', '/iam/v2beta1/groups/'), ['DeleteGroup', { uid: '' }])
  })

  test('list the methods that a path accepts', () => {
    const all = ['DELETE', 'GET', 'PATCH', 'POST']
    assert.deepEqual(verbsOf('/iam/v2beta1/groups'), ['GET', 'POST'])
    assert.deepEqual(verbsOf('/iam/v2beta1/groups/a'), all)
    assert.equal(
      groups.find(splitPath('/iam/v2beta1/groups')).get('GET')?.route.endpoint.method.desc.name,
      'ListGroups',
    )
    assert.equal(matchOf('PUT', '/iam/v2beta1/groups/a'), undefined)
    assert.equal(matchOf('get', '/iam/v2beta1/groups/a'), undefined)
  })

  test('match no other path', () => {
    const others = [
      '/',
      '/iam',
      '/iam/v2beta1',
      '/iam/v2beta1/',
      '/iam/v2beta1/group',
      '/iam/v1/groups',
      '//iam/v2beta1/groups',
    ]
    for (const path of [...others, '/iam/v2beta1/groups:x', '/__proto__/constructor/toString', '*', '']) {
      assert.deepEqual(verbsOf(path), [], path)
    }
  })

  test('leave an unknown custom verb in the uid', () => {
    assert.deepEqual(matchOf('GET', '/iam/v2beta1/groups/a:purge'), ['GetGroup', { uid: 'a:purge' }])
  })
})

const getGroup = describeMethod(GroupsService.method.getGroup)
const endpoint = (name: string, verb: string, ...paths: string[]): Endpoint => ({
  method: {
    ...getGroup,
    desc: { ...getGroup.desc, name },
    bindings: paths.map((path) => ({ verb, path, body: '' })),
  },
})

describe('routes', () => {
  const list = [
    endpoint('Get', 'GET', '/registry/v2beta1/repos/{uid=**}'),
    endpoint('List', 'GET', '/registry/v2beta1/repos'),
    endpoint('Readme', 'GET', '/registry/v2beta1/repos/{uid=**}/readme'),
    endpoint('Size', 'GET', '/registry/v2beta1/repos/{uid=**}/digests/{digest}/size'),
    endpoint('Check', 'GET', '/registry/v2beta1/repos/{uid=**}:check'),
    endpoint('Sync', 'POST', '/registry/v2beta1/repos:sync'),
    endpoint('Exchange', 'POST', '/sts/exchange', '/sts/exchange:now'),
  ]

  for (const [order, endpoints] of [
    ['in this order', list],
    ['in reverse order', list.toReversed()],
  ] as const) {
    const routes = makeRoutes(endpoints)
    const match = (verb: string, path: string) => matchOf(verb, path, routes)

    test(`prefer the more specific template, registered ${order}`, () => {
      assert.deepEqual(match('GET', '/registry/v2beta1/repos'), ['List', {}])
      assert.deepEqual(match('GET', '/registry/v2beta1/repos/a/b'), ['Get', { uid: 'a/b' }])
      assert.deepEqual(match('GET', '/registry/v2beta1/repos/a/readme'), ['Readme', { uid: 'a' }])
      assert.deepEqual(match('GET', '/registry/v2beta1/repos/a/digests/d/size'), [
        'Size',
        { uid: 'a', digest: 'd' },
      ])
      assert.deepEqual(match('GET', '/registry/v2beta1/repos/a:check'), ['Check', { uid: 'a' }])
      assert.deepEqual(match('GET', '/registry/v2beta1/repos/a/readme:check'), ['Check', { uid: 'a/readme' }])
    })

    test(`find custom verbs on collections and short paths, registered ${order}`, () => {
      assert.deepEqual(match('POST', '/registry/v2beta1/repos:sync'), ['Sync', {}])
      assert.deepEqual(verbsOf('/registry/v2beta1/repos:sync', routes), ['POST'])
      assert.deepEqual(match('POST', '/sts/exchange'), ['Exchange', {}])
      assert.deepEqual(match('POST', '/sts/exchange:now'), ['Exchange', {}])
      assert.equal(match('POST', '/sts/exchange/'), undefined)
    })
  }

  test('cannot be made for a path with a variable in its first three segments, as no look-up would find it', () => {
    assert.throws(
      () => makeRoutes([endpoint('Odd', 'GET', '/iam/{version}/groups')]),
      /has a variable in its first three segments/,
    )
  })
})

describe('splitting a path', () => {
  test('decodes escapes first, including %2F', () => {
    assert.deepEqual(splitPath('/iam/v2beta1/groups/a%2Fb%2fc'), ['iam', 'v2beta1', 'groups', 'a', 'b', 'c'])
    assert.deepEqual(splitPath('/a%3Aread/%C3%A9+b'), ['a:read', 'é+b'])
  })

  test('keeps dots and empty segments', () => {
    assert.deepEqual(splitPath('/a/../b/./c'), ['a', '..', 'b', '.', 'c'])
    assert.deepEqual(splitPath('/a//b/'), ['a', '', 'b', ''])
  })

  test('decodes only once', () => {
    assert.deepEqual(splitPath('/a%252Fb'), ['a%2Fb'])
  })

  test('rejects a malformed escape', () => {
    for (const path of ['/%', '/%z1', '/%zz', '/a%2', '/%ff', '/%c3', '/%ed%a0%80', '/%80abc']) {
      assert.throws(
        () => splitPath(path),
        (error) => error instanceof StatusError && error.http === 400 && error.code === 3,
        path,
      )
    }
  })
})
