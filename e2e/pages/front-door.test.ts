// The pages that browsers get outside of sign-in: the start page, pages for errors, and icons.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startApp } from '@stemma/server/app.ts'
import { readConfig } from '@stemma/server/config/config.ts'
import { openLog } from '@stemma/server/log.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { startPlatform } from '@stemma/server/testing/platform.ts'
import { onEachStore, temporaryStore } from '@stemma/server/testing/stores.ts'

/** The header of Chromium. */
const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

const visit = (url: string, init: RequestInit = {}) =>
  fetch(url, { ...init, headers: { accept: browserAccept } })

/** The policy must allow neither files of other hosts nor inline scripts. */
function assertStrict({ headers }: Response): void {
  const policy = headers.get('content-security-policy') ?? ''
  assert.match(policy, /default-src 'none'/)
  assert.doesNotMatch(policy, /unsafe|https?:/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
}

onEachStore('the start page', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine)
  })
  after(() => platform.stop())

  test('names the server, and leads to the console and the reference', async () => {
    const answer = await visit(`${platform.url}/`)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    assertStrict(answer)
    const page = await answer.text()
    assert.match(page, /<h1>stemma\.test<\/h1>/)
    for (const link of ['/console/', '/docs', '/openapi.json']) assert.ok(page.includes(`href="${link}"`))
    const head = await visit(`${platform.url}/?from=elsewhere`, { method: 'HEAD' })
    assert.deepEqual([head.status, await head.text()], [200, ''])
  })

  test('leads to paths below the path of the base URL', async () => {
    const { host } = new URL(platform.url)
    const config = { ...platform.config, baseUrl: `http://${host}/stemma`, port: 0, apiAddresses: [] }
    const app = await startApp(config, openLog('silent'))
    try {
      for (const [path, status] of [['/', 200] as const, ['/nothing', 404] as const]) {
        const answer = await visit(`http://127.0.0.1:${app.port}${path}`)
        assert.equal(answer.status, status)
        const links = [...(await answer.text()).matchAll(/href="([^"#]*)"/g)]
        assert.ok(links.length > 0)
        for (const [, link = ''] of links) assert.match(link, /^\/stemma\//)
      }
    } finally {
      await app.stop(true)
    }
  })

  test('is an error in JSON for programs', async () => {
    for (const init of [{}, { headers: { accept: 'application/json' } }, { method: 'POST' }]) {
      const answer = await fetch(`${platform.url}/`, init)
      assert.equal(answer.status, 404)
      assert.equal(answer.headers.get('content-type'), 'application/json')
    }
  })

  test('says where to find the set-up link if nobody has set up the server', async () => {
    const temporary = await temporaryStore(engine)
    const settings = [...temporary.settings, '--port', '0', '--log-level', 'silent', '--drain-delay', '0']
    const app = await startApp(readConfig({}, settings).config, openLog('silent'))
    try {
      const page = await (await visit(`http://127.0.0.1:${app.port}/`)).text()
      assert.match(page, /is not set up yet/)
      assert.ok(!page.includes(new URL(app.setUpLink ?? '').search), 'the link itself is a secret')
    } finally {
      await app.stop(true)
      await temporary.remove()
    }
  })
})

describe('a server', () => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform('sqlite')
  })
  after(() => platform.stop())

  test('sends browsers a page if a path does not exist', async () => {
    for (const path of ['/nothing', '/docs/nothing', '/%3Cscript%3E', '/a/b/c/d']) {
      const answer = await visit(platform.url + path)
      assert.equal(answer.status, 404)
      assertStrict(answer)
      const page = await answer.text()
      assert.match(page, /<h1>Page not found<\/h1>/)
      assert.doesNotMatch(page, /<script/)
    }
    const head = await visit(`${platform.url}/nothing`, { method: 'HEAD' })
    assert.deepEqual([head.status, await head.text()], [404, ''])
  })

  test('sends JSON below the paths of the API, and to programs', async () => {
    for (const answer of await Promise.all([
      visit(`${platform.url}/iam/v2beta1/nothing`),
      visit(`${platform.url}/iam/v2beta1/groups`),
      visit(`${platform.url}/nothing`, { method: 'POST' }),
      fetch(`${platform.url}/nothing`),
    ]))
      assert.equal(answer.headers.get('content-type'), 'application/json')
  })

  test('serves the icons of all pages', async () => {
    const svg = await fetch(`${platform.url}/favicon.svg`)
    assert.deepEqual([svg.status, svg.headers.get('content-type')], [200, 'image/svg+xml'])
    assert.match(await svg.text(), /^<svg /)
    const ico = await fetch(`${platform.url}/favicon.ico`)
    const bytes = Buffer.from(await ico.arrayBuffer())
    assert.equal(bytes.readUInt32LE(14), bytes.length - 22, 'the entry has the length of the image')
    assert.equal(bytes.subarray(23, 26).toString(), 'PNG')
  })

  test('serves the icon of sign-in pages below the path of the auth URL', async () => {
    const { host } = new URL(platform.url)
    const config = { ...platform.config, authUrl: `http://${host}/auth`, port: 0, apiAddresses: [] }
    const app = await startApp(config, openLog('silent'))
    try {
      const url = `http://127.0.0.1:${app.port}`
      // An error page of sign-in, then pages of oidc-provider: two usual ones and an error page.
      for (const path of ['/sign-in/unknown', '/device', '/oauth/logout/success', '/oauth/authorize']) {
        const page = await (await visit(`${url}/auth${path}`)).text()
        assert.match(page, /<link rel="icon" href="\/auth\/favicon\.svg"/, path)
      }
      assert.equal((await fetch(`${url}/auth/favicon.svg`)).status, 200)
    } finally {
      await app.stop(true)
    }
  })
})
