// The reference, as pages of a server and as files in docs, covers every method.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { describeServices } from '@stemma/api/reference/operations.ts'
import { pageOf } from '@stemma/api/reference/page.ts'
import type { Browser } from 'playwright-core'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { newBrowserContext, noChromium, openChromium } from '../sign-in/chromium.ts'

const docs = join(import.meta.dirname, '../../docs')
const committedOpenApi = readFileSync(join(docs, 'openapi.json'), 'utf8')

describe('the reference', () => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform('sqlite')
  })
  after(() => platform.stop())

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(platform.url + path, { headers, method })
  const textOf = async (path: string) => {
    const response = await get(path)
    assert.equal(response.status, 200, path)
    return response.text()
  }

  test('has an operation, a page and an entry in docs for every method that is served', async () => {
    const openapi = await textOf('/openapi.json')
    const index = await textOf('/docs')
    const slugs = [...new Set([...index.matchAll(/href="docs\/([^"#]+)"/g)].map(([, slug]) => slug))]
    const pages = (await Promise.all(slugs.map((slug) => textOf(`/docs/${slug}`)))).join('')
    const files = readdirSync(join(docs, 'reference')).map((file) =>
      readFileSync(join(docs, 'reference', file), 'utf8'),
    )
    assert.ok(platform.app.endpoints.length > 80)
    for (const { method } of platform.app.endpoints) {
      const { name, parent } = method.desc
      const rpc = `"x-grpc-method":"${parent.typeName}/${name}"`
      assert.equal(
        openapi.split(rpc).length - 1 >= method.bindings.length,
        true,
        `OpenAPI lacks ${method.name}`,
      )
      const anchor = name.toLowerCase()
      const isShown = slugs.some((slug) => index.includes(`href="docs/${slug}#${anchor}"`))
      assert.ok(isShown && pages.includes(`<article id="${anchor}">`), `the pages lack ${method.name}`)
      const file = files.find((text) => text.includes(`gRPC: \`${parent.typeName}\``))
      assert.ok(file?.includes(`\n## ${name}\n`), `docs lack ${method.name}`)
    }
  })

  test('describes every message, field and method', () => {
    for (const service of describeServices()) {
      assert.ok(service.description, `${service.slug} is not described`)
      for (const { operation, parameters } of pageOf(service).operations) {
        assert.ok(operation.summary, `${operation.id} is not described`)
        for (const { name, description } of parameters)
          assert.ok(description, `${name} of ${operation.id} is not described`)
      }
      for (const { name, description, rows = [] } of pageOf(service).types) {
        assert.ok(description, `${name} of ${service.slug} is not described`)
        for (const row of rows)
          assert.ok(row.description, `${row.name} of ${name} of ${service.slug} is not described`)
      }
    }
  })

  test('serves the document of docs/openapi.json with the address of the server', async () => {
    const served = JSON.parse(await textOf('/openapi.json'))
    assert.deepEqual(served.servers, [{ url: platform.config.baseUrl }])
    assert.deepEqual(
      { ...served, servers: undefined },
      { ...JSON.parse(committedOpenApi), servers: undefined },
    )
  })

  test('has no broken links', async () => {
    const index = await textOf('/docs')
    const links = [...index.matchAll(/href="(docs\/[^"#]+)(?:#([^"]+))?"/g)]
    assert.ok(links.length > 100)
    const pages = new Map<string, string>()
    for (const [, path = '', anchor] of links) {
      const text = pages.get(path) ?? (await textOf(`/${path}`))
      pages.set(path, text)
      if (anchor) assert.ok(text.includes(`id="${anchor}"`), `${path}#${anchor}`)
    }
    for (const [path, text] of pages) {
      for (const [, anchor] of text.matchAll(/href="#([^"]+)"/g))
        assert.equal(text.split(`id="${anchor}"`).length, 2, `${path}#${anchor}`)
    }
  })

  test('can be cached until it changes', async () => {
    for (const path of ['/openapi.json', '/docs', '/docs/iam-v2beta1-groups']) {
      const first = await get(path)
      await first.arrayBuffer()
      const etag = first.headers.get('etag') ?? ''
      assert.match(etag, /^"[\w-]+"$/)
      assert.equal(first.headers.get('cache-control'), 'max-age=300')
      const again = await get(path, { 'if-none-match': `"other", W/${etag}` })
      assert.equal(again.status, 304)
      assert.equal(await again.text(), '')
      assert.equal((await get(path, { 'if-none-match': '"other"' }, 'HEAD')).status, 200)
      assert.equal((await get(path, {}, 'POST')).status, 405)
    }
  })

  test('has a Content-Security-Policy that allows only its own script and style', async () => {
    const policy = (await get('/docs')).headers.get('content-security-policy') ?? ''
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+';/)
    assert.doesNotMatch(policy, /unsafe|https?:|\*/)
  })

  describe('in a browser', { skip: noChromium ?? false }, () => {
    let browser: Browser
    before(async () => {
      browser = await openChromium()
    })
    after(() => browser?.close())

    for (const javaScriptEnabled of [true, false]) {
      test(`is readable on a small screen ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
        const context = await newBrowserContext(browser, {
          viewport: { width: 320, height: 640 },
          javaScriptEnabled,
        })
        const page = await context.newPage()
        const consoleMessages: string[] = []
        page.on('console', (message) => consoleMessages.push(message.text()))
        for (const path of [
          '/docs',
          '/docs/iam-v2beta1-groups',
          '/docs/vulnerabilities-v2beta1-advisories',
        ]) {
          await page.goto(platform.url + path)
          const width = await page.locator('body').evaluate(({ scrollWidth }) => scrollWidth)
          assert.ok(width <= 320, `${path} is ${width} wide`)
        }
        assert.deepEqual(consoleMessages, [])
        await context.close()
      })
    }

    test('filters calls by words', async () => {
      const context = await newBrowserContext(browser, { javaScriptEnabled: true })
      const page = await context.newPage()
      await page.goto(`${platform.url}/docs`)
      await page.getByLabel('Find a call').fill('post v2beta1/groups/')
      await page.getByText('3 calls', { exact: true }).waitFor()
      await page.getByRole('link', { name: 'POST /iam/v2beta1/groups/{parent}' }).click()
      await page.waitForURL('**/docs/iam-v2beta1-groups#creategroup')
      await page.getByRole('heading', { name: 'CreateGroup', exact: true }).first().waitFor()
      await context.close()
    })
  })
})
