// The checks that every page of the console must pass: accessibility, layout, and no problem in the
// browser.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { Stage } from './stage.ts'

const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
/** Defines a function that loads axe. V8 only skims its body, in a few milliseconds, until it is called. */
const defineLoadAxe = `void Object.defineProperty(globalThis, 'loadAxe', { value() { ${axe} } })`

const wide = { width: 1280, height: 800 }
const phone = { width: 375, height: 740 }

/** Loads a path and checks it at both sizes, in light and dark. `heading` is the first heading of the page. */
export async function checkPage(stage: Stage, path: string, heading: string): Promise<void> {
  await stage.page.goto(stage.at(path))
  await checkOpened(stage, path, heading)
}

export async function checkOpened({ page, problems }: Stage, path: string, heading: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  await checkShown(page, path)
  assert.deepEqual(problems.splice(0), [], `problems on ${path}`)
}

/**
 * Checks the page as it is, for instance with an open dialog. Its colours are checked only at the large
 * size: a phone shows fewer elements, in the same colours.
 */
export async function checkShown(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' })
  await checkAt(page, wide, allRules, `${name} in light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  await checkAt(page, wide, colorRules, `${name} in dark`)
  await checkAt(page, phone, otherRules, `${name} on a phone`)
  await page.setViewportSize(wide)
}

/** Checks the colours of a page that shows some elements only on phones. */
export async function checkColorsOnPhone(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await checkAt(page, phone, colorRules, `${name} on a phone in ${colorScheme}`)
  }
  await page.setViewportSize(wide)
}

async function checkAt(page: Page, size: typeof wide, options: object, where: string): Promise<void> {
  await page.setViewportSize(size)
  assert.deepEqual(await violationsOf(page, options), [], where)
  const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
  assert.equal(await page.evaluate(overflow), 0, `${where} scrolls sideways`)
}

type AxeResult = { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }

const commonOptions = {
  // Details of passed rules would take half of the time.
  resultTypes: ['violations'],
  // There are no frames, and no styles of other origins to load.
  ...{ iframes: false, preload: false },
}
// An item of a tree is named by its own label, but axe counts the text of the items below it as its content too.
const unusedRules = { 'label-content-name-mismatch': { enabled: false } }
const allRules = { ...commonOptions, rules: unusedRules }
/** The rules about colours, which take more time than all others together. */
const colorRules = { ...commonOptions, runOnly: ['color-contrast', 'link-in-text-block'] }
const otherRules = {
  ...commonOptions,
  rules: { ...unusedRules, 'color-contrast': { enabled: false }, 'link-in-text-block': { enabled: false } },
}

/** Runs axe through the debugger, which the Content Security Policy of the page does not block. */
async function violationsOf(page: Page, options: object): Promise<string[]> {
  if (!(await page.evaluate('typeof axe === "object"'))) await loadAxe(page)
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResult
  return violations.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 3)
      .map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary.slice(0, 200)}`),
  )
}

/**
 * The text of axe goes to the browser once for each page, not for each document, as it takes about 0.1 seconds of CPU
 * time to send and to compile. V8 keeps the compiled code for later documents.
 */
async function loadAxe(page: Page): Promise<void> {
  if (!(await page.evaluate('typeof loadAxe === "function"'))) {
    await page.addInitScript(defineLoadAxe)
    await page.evaluate(defineLoadAxe)
  }
  await page.evaluate('loadAxe()')
}
