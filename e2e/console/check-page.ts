// The checks that every page of the console must pass: accessibility, layout, and no problem in the
// browser.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { Stage } from './stage.ts'

const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

const sizes = [
  { width: 1280, height: 800 },
  { width: 375, height: 740 },
]
const schemes = ['light', 'dark'] as const

/** Opens a path and checks it at both sizes, in light and dark. `heading` is the first heading of the page. */
export async function checkPage(stage: Stage, path: string, heading: string): Promise<void> {
  const { page, problems } = stage
  await page.goto(stage.at(path))
  await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  await checkShown(page, path)
  assert.deepEqual(problems.splice(0), [], `problems on ${path}`)
}

/** Checks the page as it is, for instance with an open dialog. */
export async function checkShown(page: Page, name: string): Promise<void> {
  for (const size of sizes) {
    await page.setViewportSize(size)
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      const where = `${name} at ${size.width} px, ${colorScheme}`
      assert.deepEqual(await violationsOf(page, colorScheme === 'light' ? allRules : colorRules), [], where)
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      assert.equal(await page.evaluate(overflow), 0, `${where} scrolls sideways`)
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 })
}

type AxeResult = { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }

const commonOptions = {
  // Details of passed rules would take half of the time.
  resultTypes: ['violations'],
  // There are no frames, and no styles of other origins to load.
  ...{ iframes: false, preload: false },
}
// An item of a tree is named by its own label, but axe counts the text of the items below it as its content too.
const allRules = { ...commonOptions, rules: { 'label-content-name-mismatch': { enabled: false } } }
/** The rules whose result depends on the colour scheme. */
const colorRules = { ...commonOptions, runOnly: ['color-contrast', 'link-in-text-block'] }

/** Runs axe through the debugger, which the Content Security Policy of the page does not block. */
async function violationsOf(page: Page, options: object): Promise<string[]> {
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(axe)
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResult
  return violations.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 3)
      .map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary.slice(0, 200)}`),
  )
}
