import assert from 'node:assert/strict'
import { test } from 'node:test'
import { routeOf } from './route.ts'

const sha256 = `sha256:${'a'.repeat(64)}`
const sha512 = `sha512:${'b'.repeat(128)}`

test('the end of a path decides its endpoint, whatever the name of the repo contains', () => {
  const routes = {
    '/v2': { kind: 'base' },
    '/v2/': { kind: 'base' },
    '/v2/_catalog': { kind: 'catalog' },
    '/v2/token': { kind: 'token' },
    '/v2/token/tags/list': { kind: 'tags', name: 'token' },
    '/v2/acme/tags/list': { kind: 'tags', name: 'acme' },
    '/v2/acme/web/manifests/latest': { kind: 'manifest', name: 'acme/web', reference: { tag: 'latest' } },
    [`/v2/acme/manifests/${sha512}`]: { kind: 'manifest', name: 'acme', reference: { digest: sha512 } },
    '/v2/tags/list/manifests/tags': { kind: 'manifest', name: 'tags/list', reference: { tag: 'tags' } },
    [`/v2/a/blobs/${sha256}`]: { kind: 'blob', name: 'a', digest: sha256 },
    '/v2/a/b/blobs/uploads/': { kind: 'uploads', name: 'a/b' },
    '/v2/a/b/blobs/uploads': { kind: 'uploads', name: 'a/b' },
    '/v2/a/blobs/uploads/1f': { kind: 'upload', name: 'a', id: '1f' },
    '/v2/blobs/uploads/tags/list': { kind: 'tags', name: 'blobs/uploads' },
    '/v2/a/b/_stemma/history/v1': { kind: 'history', name: 'a/b', extension: '_stemma', tag: 'v1' },
    '/v2/a/history/manifests/v1': { kind: 'manifest', name: 'a/history', reference: { tag: 'v1' } },
    [`/v2/a/referrers/${sha256}`]: { kind: 'referrers', name: 'a', digest: sha256 },
  }
  for (const [path, route] of Object.entries(routes)) assert.deepEqual(routeOf(path), route, path)
})

test('paths that no endpoint has are not routed', () => {
  for (const path of ['/', '/v2x/', '/v2/acme', '/v2/acme/tags', '/v2/acme/manifests/a/b', '/v2/_catalog/x'])
    assert.equal(routeOf(path), undefined, path)
})

test('a malformed name, digest or reference is reported', () => {
  const parts = {
    '/v2/Acme/tags/list': 'name',
    '/v2//tags/list': 'name',
    '/v2/a..b/tags/list': 'name',
    '/v2/a/../b/tags/list': 'name',
    '/v2/%61/tags/list': 'name',
    [`/v2/${'a/'.repeat(700)}b/tags/list`]: 'name',
    '/v2/a/blobs/sha256:0': 'digest',
    '/v2/a/referrers/latest': 'digest',
    '/v2/a/manifests/sha256:bad': 'digest',
    '/v2/a/manifests/.hidden': 'reference',
    [`/v2/a/manifests/${'t'.repeat(129)}`]: 'reference',
    '/v2/a/manifests/': 'reference',
  }
  for (const [path, part] of Object.entries(parts))
    assert.deepEqual(routeOf(path), { kind: 'invalid', part }, path)
})

test('names of a repo may contain the separators of the specification, but not at their ends', () => {
  const kindOf = (name: string) => routeOf(`/v2/${name}/tags/list`)?.kind
  for (const name of ['a_b', 'a__b', 'a-b', 'a---b', 'a.b', '0/1', 'f'.repeat(40)])
    assert.equal(kindOf(name), 'tags', name)
  for (const name of ['a___b', '-a', 'a-', 'a_', '.a', 'a.', 'a._b', 'a b'])
    assert.equal(kindOf(name), 'invalid', name)
})
