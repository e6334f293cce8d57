// The files of the console: their size, and how the server sends them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { firstLoadOf } from '@stemma/console/build/first-load.ts'
import { bundleOnce } from '@stemma/server/testing/console-bundle.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { startPlatform } from '@stemma/server/testing/platform.ts'
import { rawClient } from '@stemma/server/testing/raw-http.ts'

/** In bytes, compressed by gzip. */
const maxFirstLoad = { script: 60_000, style: 15_000 }

test('the first load is small', async () => {
  const { script, style } = firstLoadOf(await bundleOnce())
  assert.ok(script > 0 && script <= maxFirstLoad.script, `${script} bytes of script`)
  assert.ok(style > 0 && style <= maxFirstLoad.style, `${style} bytes of style`)
})

describe('the server', () => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform('sqlite')
  })
  after(() => platform.stop())

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(platform.url + path, { headers, redirect: 'manual' })

  test('sends the same page for every path, with a strict policy', async () => {
    for (const path of ['/console/', '/console/g/abc.def/groups?dialog=create', '/console/nowhere']) {
      const response = await get(path)
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
      assert.equal(response.headers.get('cache-control'), 'no-cache')
      assert.equal(
        response.headers.get('content-security-policy'),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
      )
      assert.equal(response.headers.get('cross-origin-opener-policy'), 'same-origin')
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
      assert.equal(response.headers.get('referrer-policy'), 'no-referrer')
      const etag = response.headers.get('etag') ?? ''
      assert.equal((await get(path, { 'if-none-match': etag })).status, 304)
    }
  })

  test('sends immutable files, in an encoding that the browser accepts', async () => {
    const page = await (await get('/console/')).text()
    const files = [...page.matchAll(/\/console\/assets\/[^"]+/g)].map(([path]) => path)
    assert.ok(files.length >= 3)
    for (const file of files)
      for (const encoding of ['br', 'gzip']) {
        const response = await get(file, { 'accept-encoding': encoding })
        assert.equal(response.status, 200)
        assert.equal(response.headers.get('content-encoding'), encoding)
        assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable')
        assert.match(response.headers.get('content-type') ?? '', /^text\/(javascript|css); charset=utf-8$/)
        await response.text()
      }
  })

  test('sends no encoding that the browser refuses', async () => {
    for (const [accepted, encoding] of [
      ['br;q=0, gzip', 'gzip'],
      ['gzip; q=0.000, br;q=0.001', 'br'],
      ['GZIP', 'gzip'],
      ['br;q=0,gzip;Q=0.0', null],
      ['xbr, x-gzip', null],
      ['identity', null],
    ] as const) {
      const response = await get('/console/', { 'accept-encoding': accepted })
      assert.equal(response.headers.get('content-encoding'), encoding, accepted)
      assert.match(await response.text(), /^<!doctype html>/)
    }
  })

  test('redirects /console, and refuses unknown files and other methods', async () => {
    assert.equal((await get('/console')).headers.get('location'), '/console/')
    // `fetch` would remove the dots before it sends the path.
    for (const path of ['../../etc/passwd', '../../../package.json', '%2e%2e/%2e%2e/etc/passwd']) {
      const client = await rawClient(platform.app.port)
      client.send(`GET /console/assets/${path} HTTP/1.1\r\nHost: stemma.test\r\n\r\n`)
      assert.equal((await client.response()).status, 404, path)
      client.close()
    }
    assert.equal((await get('/console/assets/main-00000000.js')).status, 404)
    const posted = await fetch(`${platform.url}/console/`, { method: 'POST' })
    assert.equal(posted.status, 405)
    assert.equal(posted.headers.get('allow'), 'GET, HEAD')
  })
})
