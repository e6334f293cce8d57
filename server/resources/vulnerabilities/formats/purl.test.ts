import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parsePurl, purlOf } from './purl.ts'

describe('purls', () => {
  test('contain the package name, written as the purl type requires', () => {
    const examples: [string, string, string][] = [
      ['npm', '@scope/name', 'pkg:npm/%40scope/name'],
      ['go', 'example.com/a/b', 'pkg:golang/example.com/a/b'],
      ['maven', 'org.example:core', 'pkg:maven/org.example/core'],
      ['debian', 'libstdc++6', 'pkg:deb/debian/libstdc%2B%2B6'],
      ['cargo', 'serde', 'pkg:cargo/serde'],
    ]
    for (const [type, name, purl] of examples) {
      assert.equal(purlOf(type, name), purl)
      assert.deepEqual(parsePurl(purl), { type, name, version: '', origin: '' })
    }
    assert.equal(purlOf('pypi', 'Some_Package'), 'pkg:pypi/some-package')
    assert.equal(purlOf('oci', 'nginx'), undefined)
    assert.equal(purlOf('npm', '/'), undefined)
  })

  test('contain the version and the source package', () => {
    assert.equal(parsePurl('pkg:deb/debian/libgtk@1?upstream=gtk+3.0')?.origin, 'gtk+3.0')
    assert.deepEqual(parsePurl('pkg:apk/alpine/libcrypto3@3.1.4-r0?arch=x86_64&upstream=openssl%403.1#sub'), {
      ...{ type: 'alpine', name: 'libcrypto3', version: '3.1.4-r0', origin: 'openssl' },
    })
    assert.equal(parsePurl('pkg:npm/@scope/name@1.0')?.name, '@scope/name')
  })

  test('are not parsed from invalid texts', () => {
    for (const text of ['', 'npm/a', 'pkg:', 'pkg:npm', 'pkg:npm/', 'pkg:npm/%zz', 'pkg:npm/a@%'])
      assert.equal(parsePurl(text), undefined, text)
  })

  test('parse to the values they were built from', () => {
    const name = fc.stringMatching(/^[^/]+$/).filter((text) => text.isWellFormed())
    fc.assert(
      fc.property(fc.constantFrom('npm', 'go', 'alpine', 'cargo'), name, name, (type, text, version) => {
        const parsed = parsePurl(purlOf(type, text, version) ?? '')
        assert.deepEqual(parsed, { type, name: text, version, origin: '' })
      }),
    )
  })
})
