// Takes pictures of pages, with the data of `stemmad demo`.
// `npm run pictures -- FOLDER [NAME …]` takes all pages, or only those whose name contains a NAME.
// `npm run pictures -- --docs` takes those that README and docs show, into docs/pictures.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { openChromium } from '../../e2e/sign-in/chromium.ts'
import type { DemoServer } from './demo-server.ts'
import { startDemoServer } from './demo-server.ts'
import { docsFolder, docsPictures } from './docs-pictures.ts'
import { addExamples } from './examples.ts'
import { findTargets, openCaller } from './targets.ts'

const sizes = [
  { width: 1280, height: 800 },
  { width: 375, height: 740 },
]
const schemes = ['light', 'dark'] as const

const [, , first = '.cache/pictures', ...names] = process.argv
const isForDocs = first === '--docs'
const folder = isForDocs ? docsFolder : first

async function openPage(browser: Browser, { url, cookie }: DemoServer): Promise<Page> {
  const context = await browser.newContext({ deviceScaleFactor: 1 })
  await context.addCookies([
    { name: 'stemma-console', value: cookie, url, httpOnly: true, sameSite: 'Strict' },
  ])
  return context.newPage()
}

/** Waits at most 5 seconds, because the network is never idle on a page that follows events. */
async function open(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.waitForLoadState('networkidle', { timeout: 5000 }).catch(() => {})
}

async function takeAll(page: Page, server: DemoServer): Promise<void> {
  const call = await openCaller(page, server.url)
  const { groups } = await call('GET', '/iam/v2beta1/groups?uidp.inRoot=true')
  const endExamples = await addExamples(call, (groups as { uid: string }[])[0]?.uid ?? '')
  const targets = await findTargets(call)
  for (const { name, path } of targets) {
    if (names.length > 0 && !names.some((wanted) => name.includes(wanted))) continue
    await open(page, server.url + path)
    for (const size of sizes)
      for (const colorScheme of schemes) {
        await page.setViewportSize(size)
        await page.emulateMedia({ colorScheme })
        await page.screenshot({ path: join(folder, `${name}-${size.width}-${colorScheme}.png`) })
      }
    console.log(name, path)
  }
  endExamples()
}

async function takeForDocs(page: Page, server: DemoServer): Promise<void> {
  const targets = await findTargets(await openCaller(page, server.url))
  await page.setViewportSize({ width: 1280, height: 800 })
  for (const { file, target, query = '', colorScheme } of docsPictures) {
    const path = targets.find(({ name }) => name === target)?.path
    if (path === undefined) throw new Error(`there is no page ${target}`)
    await page.emulateMedia({ colorScheme })
    await open(page, server.url + path + query)
    await page.screenshot({ path: join(folder, file) })
    console.log(file, path)
  }
}

await mkdir(folder, { recursive: true })
const [server, browser] = await Promise.all([startDemoServer(), openChromium()])
try {
  const page = await openPage(browser, server)
  await (isForDocs ? takeForDocs(page, server) : takeAll(page, server))
} finally {
  await browser.close()
  await server.close()
}
