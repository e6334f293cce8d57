// Takes pictures of every page, to look at them: npm run pictures -- FOLDER [NAME …]
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { openChromium } from '../../e2e/sign-in/chromium.ts'
import type { DemoServer } from './demo-server.ts'
import { startDemoServer } from './demo-server.ts'
import { findTargets } from './targets.ts'

const sizes = [
  { width: 1280, height: 800 },
  { width: 375, height: 740 },
]
const schemes = ['light', 'dark'] as const

const [, , folder = '.cache/pictures', ...names] = process.argv

async function openPage(browser: Browser, { url, cookie }: DemoServer): Promise<Page> {
  const context = await browser.newContext({ deviceScaleFactor: 1 })
  await context.addCookies([
    { name: 'stemma-console', value: cookie, url, httpOnly: true, sameSite: 'Strict' },
  ])
  return context.newPage()
}

async function takeAll(page: Page, server: DemoServer): Promise<void> {
  const targets = await findTargets(page, server.url)
  for (const { name, path } of targets) {
    if (names.length > 0 && !names.some((wanted) => name.includes(wanted))) continue
    await page.goto(server.url + path, { waitUntil: 'networkidle' })
    for (const size of sizes)
      for (const colorScheme of schemes) {
        await page.setViewportSize(size)
        await page.emulateMedia({ colorScheme })
        await page.screenshot({ path: join(folder, `${name}-${size.width}-${colorScheme}.png`) })
      }
    console.log(name, path)
  }
}

await mkdir(folder, { recursive: true })
const [server, browser] = await Promise.all([startDemoServer(), openChromium()])
try {
  await takeAll(await openPage(browser, server), server)
} finally {
  await browser.close()
  await server.close()
}
