import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { matchTemplate, parseTemplate } from './template.ts'

/** The fields that a path fills; undefined if it does not match. */
function match(template: string, path: string): Record<string, string> | undefined {
  const fields = matchTemplate(parseTemplate(template), path.slice(1).split('/'))
  return fields && Object.fromEntries(fields)
}

describe('a template', () => {
  test('of literals matches only the same path', () => {
    assert.deepEqual(match('/iam/v2beta1/groups', '/iam/v2beta1/groups'), {})
    for (const path of [
      '/iam/v2beta1',
      '/iam/v2beta1/groups/',
      '/iam/v2beta1/Groups',
      '/',
      '',
      '//iam/v2beta1/groups',
    ]) {
      assert.equal(match('/iam/v2beta1/groups', path), undefined, path)
    }
  })

  test('matches one segment with *, explicit or implied', () => {
    for (const template of ['/a/{x}/c', '/a/{x=*}/c']) {
      assert.deepEqual(match(template, '/a/b/c'), { x: 'b' })
      assert.equal(match(template, '/a/c'), undefined)
      assert.equal(match(template, '/a/b/b/c'), undefined)
    }
    assert.deepEqual(match('/a/*/c', '/a/b/c'), {})
  })

  test('matches zero or more segments with **', () => {
    assert.deepEqual(match('/groups/{uid=**}', '/groups'), { uid: '' })
    assert.deepEqual(match('/groups/{uid=**}', '/groups/a'), { uid: 'a' })
    assert.deepEqual(match('/groups/{uid=**}', '/groups/a/b/c'), { uid: 'a/b/c' })
    assert.equal(match('/groups/{uid=**}', '/'), undefined)
  })

  test('keeps trailing and repeated slashes', () => {
    assert.deepEqual(match('/groups/{uid=**}', '/groups/'), { uid: '' })
    assert.deepEqual(match('/groups/{uid=**}', '/groups/a/'), { uid: 'a/' })
    assert.deepEqual(match('/groups/{uid=**}', '/groups//a'), { uid: '/a' })
  })

  test('may have literal segments after **', () => {
    assert.deepEqual(match('/repos/{uid=**}/readme', '/repos/a/b/readme'), { uid: 'a/b' })
    assert.deepEqual(match('/repos/{uid=**}/readme', '/repos/readme'), { uid: '' })
    assert.deepEqual(match('/repos/{uid=**}/readme', '/repos/readme/readme'), { uid: 'readme' })
    assert.equal(match('/repos/{uid=**}/readme', '/repos/a/b'), undefined)
    assert.equal(match('/repos/{uid=**}/readme', '/repos/a/readme/b'), undefined)
    assert.equal(match('/repos/{uid=**}/readme', '/readme'), undefined)
  })

  test('may have further variables after **', () => {
    const template = '/repos/{repo=**}/digests/{digest}/size'
    assert.deepEqual(match(template, '/repos/a/b/digests/sha256:1/size'), { repo: 'a/b', digest: 'sha256:1' })
    assert.deepEqual(match(template, '/repos/digests/d/size'), { repo: '', digest: 'd' })
    assert.equal(match(template, '/repos/digests/size'), undefined)
  })

  test('fills a field inside a message', () => {
    assert.deepEqual(match('/groups/{group.uid=**}', '/groups/a/b'), { 'group.uid': 'a/b' })
  })

  test('fills one field from several segments of a pattern', () => {
    assert.deepEqual(match('/v1/{name=shelves/*/books/**}', '/v1/shelves/1/books/2/3'), {
      name: 'shelves/1/books/2/3',
    })
    assert.equal(match('/v1/{name=shelves/*/books/**}', '/v1/shelves/1'), undefined)
  })

  test('with a verb matches only paths that end with the verb', () => {
    assert.deepEqual(match('/groups/{uid=**}:check', '/groups/a/b:check'), { uid: 'a/b' })
    assert.deepEqual(match('/groups/{uid=**}:check', '/groups:check'), { uid: '' })
    assert.deepEqual(match('/groups:batch', '/groups:batch'), {})
    for (const path of [
      '/groups/a',
      '/groups/a:checks',
      '/groups/a/check',
      '/groups/a:check/b',
      '/groups/acheck',
    ]) {
      assert.equal(match('/groups/{uid=**}:check', path), undefined, path)
    }
    assert.deepEqual(match('/groups/{uid=**}:check', '/groups/a:b:check'), { uid: 'a:b' })
  })

  test('without a verb keeps a colon in the field', () => {
    assert.deepEqual(match('/groups/{uid=**}', '/groups/a:check'), { uid: 'a:check' })
    assert.equal(match('/groups', '/groups:check'), undefined)
  })

  test('may contain ** only once', () => {
    assert.throws(() => parseTemplate('/a/{x=**}/b/{y=**}'), /contains \*\* twice/)
  })

  test('accepts names of Object.prototype as segments', () => {
    assert.deepEqual(
      [...(matchTemplate(parseTemplate('/a/{x=**}'), ['a', '__proto__']) ?? [])],
      [['x', '__proto__']],
    )
  })

  test('returns exactly the segments that ** matched', () => {
    const segment = fc.string({ maxLength: 5 }).map((text) => text.replaceAll('/', ''))
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 5 }), segment, (inside, last) => {
        const template = parseTemplate('/a/{x=**}/b/{y}')
        const fields = matchTemplate(template, ['a', ...inside, 'b', last])
        assert.deepEqual(fields && [...fields.values()], [inside.join('/'), last])
      }),
    )
  })
})
