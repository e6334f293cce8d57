// The documentation that a server serves: the reference, which covers every method, and the guides.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { describeServices } from '@stemma/api/reference/operations.ts'
import { pageOf } from '@stemma/api/reference/page.ts'
import { slugOf } from '@stemma/api/reference/service-names.ts'
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
  /** The names of all pages that the first page links to. */
  const slugsIn = (index: string) => [
    ...new Set([...index.matchAll(/href="\/docs\/([\w-]+)"/g)].map(([, slug]) => slug ?? '')),
  ]
  const textOf = async (path: string) => {
    const response = await get(path)
    assert.equal(response.status, 200, path)
    return response.text()
  }

  test('has an operation, a page and an entry in docs for every method that is served', async () => {
    const openapi = await textOf('/openapi.json')
    const index = await textOf('/docs')
    const slugs = slugsIn(index)
    const pages = new Map(
      await Promise.all(slugs.map(async (slug) => [slug, await textOf(`/docs/${slug}`)] as const)),
    )
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
      const [slug, anchor] = [slugOf(parent), name.toLowerCase()]
      assert.ok(index.includes(`href="/docs/${slug}#${anchor}"`), `/docs lacks ${method.name}`)
      assert.ok(pages.get(slug)?.includes(`<article id="${anchor}"`), `/docs/${slug} lacks ${method.name}`)
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
    const pages = new Map([['/docs', await textOf('/docs')]])
    for (const slug of slugsIn(pages.get('/docs') ?? ''))
      pages.set(`/docs/${slug}`, await textOf(`/docs/${slug}`))
    let count = 0
    for (const [page, text] of pages) {
      for (const [, path = '', anchor] of text.matchAll(/href="(\/docs(?:\/[\w-]+)?)?#([^"]+)"/g)) {
        const target = pages.get(path || page)
        assert.equal(target?.split(`id="${anchor}"`).length, 2, `${page} links to ${path}#${anchor}`)
        count += 1
      }
      const files = [...text.matchAll(/(?:href|src)="(\/[^"#]*)/g)].map(([, path = '']) => path)
      for (const path of new Set(files)) if (!pages.has(path) && path !== '/console/') await textOf(path)
    }
    assert.ok(pages.size > 50 && count > 1000)
  })

  test('has every guide of docs, with the address of this server in the examples', async () => {
    const slugs = slugsIn(await textOf('/docs'))
    const files = readdirSync(docs).filter((file) => file.endsWith('.md') && file !== 'README.md')
    assert.deepEqual(
      files.filter((file) => !slugs.includes(file.replace(/\.md$/, ''))),
      [],
    )
    const tour = await textOf('/docs/tour')
    assert.ok(tour.includes(`IAM=${platform.config.baseUrl}/iam/v2beta1`))
    assert.match(tour, /<title>A tour · Stemma<\/title>/)
    assert.ok(!(await textOf('/docs/registry')).includes('localhost:8080'))
    assert.ok(
      (await textOf('/docs/iam-v2beta1-groups')).includes(
        `&quot;${platform.config.baseUrl}/iam/v2beta1/groups/$`,
      ),
    )
  })

  test('is searched without scripts, and shows the words as they were typed', async () => {
    const shown = async (words: string) => {
      const page = await textOf(`/docs?q=${encodeURIComponent(words)}`)
      return [...page.matchAll(/<li (?![^>]* hidden)[^>]*data-name[^>]*><a href="([^"]+)"/g)].map(
        ([, path]) => path,
      )
    }
    assert.deepEqual(await shown('post v2beta1/groups/'), [
      ...['/docs/iam-v2beta1-groups#creategroup', '/docs/iam-v2beta1-groups#requestgroupaccess'],
      '/docs/iam-v2beta1-groups#setgrouplimits',
    ])
    assert.ok((await shown('rate limits')).includes('/docs/specification#rate-limits'))
    assert.deepEqual(await shown('no such thing'), [])
    const attack = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
    const page = await textOf(`/docs?q=${encodeURIComponent(attack)}`)
    assert.ok(page.includes('value="&quot;&gt;&lt;script&gt;alert(1)'))
    assert.ok(!page.includes('<script>') && !page.includes('<img src=x'))
    assert.ok((await textOf(`/docs?q=${'a'.repeat(5000)}`)).includes(`value="${'a'.repeat(200)}"`))
  })

  test('can be cached until it changes', async () => {
    for (const path of [
      '/openapi.json',
      '/docs',
      '/docs/iam-v2beta1-groups',
      '/docs/tour',
      '/docs/assets/docs.mjs',
    ]) {
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

  test('allows no inline script or style, no other origin and no frame', async () => {
    for (const path of ['/docs', '/docs?q=group', '/docs/tour', '/docs/iam-v2beta1-groups']) {
      const { headers } = await get(path)
      const policy = headers.get('content-security-policy') ?? ''
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
      assert.match(
        policy,
        /frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'$/,
      )
      assert.doesNotMatch(policy, /unsafe|https?:|\*/)
      assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
      assert.doesNotMatch(
        await textOf(path),
        /<script(?! type="module" src="\/docs\/)|<style| style=| on[a-z]+="/,
      )
    }
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
          '/docs/tour',
          '/docs/iam-v2beta1-groups',
          '/docs/vulnerabilities-v2beta1-advisories',
        ]) {
          await page.goto(platform.url + path)
          const width = await page.locator('body').evaluate(({ scrollWidth }) => scrollWidth)
          assert.ok(width <= 320, `${path} is ${width} wide`)
        }
        await page.getByRole('button', { name: 'Menu' }).click()
        await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Tour' }).click()
        await page.waitForURL('**/docs/tour')
        assert.deepEqual(consoleMessages, [])
        await context.close()
      })
    }

    test('filters calls by words', async () => {
      const context = await newBrowserContext(browser, { javaScriptEnabled: true })
      const page = await context.newPage()
      await page.goto(`${platform.url}/docs`)
      await page.getByLabel('Search the guides').fill('post v2beta1/groups/')
      await page.getByText('3 results', { exact: true }).waitFor()
      await page.getByRole('link', { name: 'POST /iam/v2beta1/groups/{parent}' }).click()
      await page.waitForURL('**/docs/iam-v2beta1-groups#creategroup')
      await page.getByRole('heading', { name: 'CreateGroup', exact: true }).first().waitFor()
      await context.close()
    })
  })
})
