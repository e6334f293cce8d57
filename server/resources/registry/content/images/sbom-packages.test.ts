import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cycloneDxPackages } from './sbom-packages.ts'

test('the origin of a package is the package URL of its source package, or its own if that is unknown', () => {
  for (const [purl, origin] of [
    ['pkg:apk/wolfi/libssl3@3.5.0-r0?arch=x86_64&origin=openssl', 'pkg:apk/wolfi/openssl@3.5.0-r0'],
    [
      'pkg:deb/debian/libgcc-s1@12.2.0-14%2Bdeb12u1?arch=amd64&upstream=gcc-12%4012.2.0-14%2Bdeb12u2#sub',
      'pkg:deb/debian/gcc-12@12.2.0-14%2Bdeb12u2',
    ],
    ['pkg:deb/debian/a@1%2Bb?upstream=gtk%2B3.0', 'pkg:deb/debian/gtk%2B3.0@1%2Bb'],
    ['pkg:deb/debian/a@1?upstream=gtk+3.0@2:3+4~5', 'pkg:deb/debian/gtk%2B3.0@2:3%2B4~5'],
    ['pkg:deb/debian/a@1?upstream=b%3Fc%23d', 'pkg:deb/debian/b%3Fc%23d@1'],
    ['pkg:deb/debian/a@1?upstream=\ud800', 'pkg:deb/debian/%EF%BF%BD@1'],
    ...['pkg:deb/debian/a@1?upstream=%zz', 'pkg:deb/debian/a@1?upstream=', 'pkg:deb/debian/a'].map(
      (unknown) => [unknown, unknown],
    ),
  ])
    assert.equal(cycloneDxPackages({ components: [{ purl }] })[0]?.originPurl, origin)
})
