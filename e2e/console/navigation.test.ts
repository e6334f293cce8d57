// Moving through the console in a real browser: the tree, back and forward, and the focus.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import type { Page } from 'playwright-core'
import { noChromium } from '../sign-in/chromium.ts'
import { checkShown } from './check-page.ts'
import { keyboardOf } from './keyboard.ts'
import { watchProblems } from './problems.ts'
import type { Stage } from './stage.ts'
import { openStage } from './stage.ts'

describe('navigation in the console', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  let page: Page
  let groups: string
  before(async () => {
    stage = await openStage()
    page = stage.page
    groups = stage.at(paths.groups(stage.organization))
  })
  after(() => stage.close())

  const expectNoProblems = () => assert.deepEqual(stage.problems.splice(0), [])
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true })

  test('expanded groups of the tree are in the URL, and deep trees and long names fit a phone', async () => {
    const name = `level ${'very-long-name-'.repeat(15)}`
    let parent = stage.organization
    // The rows of the twelfth level and below are indented alike.
    const levels = 13
    for (let level = 0; level < levels; level++) {
      const group = { name: level === 0 ? 'deep' : name, description: 'وصف المجموعة من اليمين إلى اليسار' }
      parent = String((await stage.call('POST', `/iam/v2beta1/groups/${parent}`, group)).uid)
    }
    await page.goto(groups)
    await page.getByRole('treeitem', { name: 'deep', exact: true }).focus()
    for (let level = 0; level < levels - 1; level++) {
      await page.keyboard.press('ArrowRight')
      await page.locator(`[aria-level="${level + 3}"]`).waitFor()
      await page.keyboard.press('ArrowDown')
    }
    await checkShown(page, 'a deep tree')
    await page.reload()
    await page.locator(`[aria-level="${levels + 1}"]`).waitFor()
    await page.goto(stage.at(paths.group(parent)))
    await heading(name).waitFor()
    await checkShown(page, 'a group with a long name, far down')
    expectNoProblems()
  })

  test('Tab reaches the tree after the focused item was removed', async () => {
    const create = async (parent: string, name: string) =>
      String((await stage.call('POST', `/iam/v2beta1/groups/${parent}`, { name })).uid)
    const outer = await create(stage.organization, 'outer')
    const inner = await create(outer, 'inner')
    await create(inner, 'innermost')
    const item = (name: string) => page.getByRole('treeitem', { name, exact: true })
    const tabStop = (name: string) => item(name).and(page.locator('[tabindex="0"]')).waitFor()
    const toggle = (name: string) => item(name).locator('.tree-toggle').first().click()
    await page.goto(groups)
    for (const name of ['outer', 'inner']) await toggle(name)
    await item('innermost').focus()
    await tabStop('innermost')
    await toggle('outer')
    await tabStop('outer')
    await toggle('outer')
    await item('innermost').focus()
    await keyboardOf(page).chooseInMenu('innermost', 'Delete')
    await page.getByRole('button', { name: 'Delete group' }).click()
    await item('innermost').waitFor({ state: 'detached' })
    await tabStop('inner')
    assert.equal(await page.locator('[role=treeitem][tabindex="0"]').count(), 1)
    expectNoProblems()
  })

  test('back and forward go through pages and dialogs', async () => {
    await page.goto(stage.at(paths.group(stage.organization)))
    await heading('acme').waitFor()
    await page.getByRole('link', { name: 'Groups', exact: true }).click()
    await heading('Groups').waitFor()
    await page.getByRole('link', { name: 'New group' }).click()
    const dialog = page.getByRole('dialog', { name: 'New group' })
    await dialog.waitFor()
    await page.goBack()
    await dialog.waitFor({ state: 'detached' })
    await page.goBack()
    await heading('acme').waitFor()
    await page.goForward()
    await page.goForward()
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    assert.equal(page.url(), groups)
    expectNoProblems()
  })

  test('a search field shows the filter of the URL after a link and after back', async () => {
    const field = page.getByLabel('Search groups by name')
    const expectFilter = async (search: string, text: string) => {
      await page.waitForURL(groups + search)
      await page.waitForFunction(
        (expected) => document.querySelector<HTMLInputElement>('input[type=search]')?.value === expected,
        text,
      )
    }
    await page.goto(groups)
    await field.fill('none')
    await page.getByRole('heading', { name: 'No group has such a name' }).waitFor()
    await page.getByRole('link', { name: 'Groups', exact: true }).click()
    await expectFilter('', '')
    await page.goBack()
    await expectFilter('?name=none', 'none')
    expectNoProblems()
  })

  test('text typed just before going back to another group does not filter its groups', async () => {
    await stage.call('POST', `/iam/v2beta1/groups/${stage.organization}`, { name: 'other' })
    await page.goto(groups)
    await page.getByRole('treeitem', { name: 'other', exact: true }).press('Enter')
    await heading('other').waitFor()
    await page.getByRole('link', { name: 'Groups', exact: true }).click()
    await page.getByLabel('Search groups by name').evaluate((field: HTMLInputElement) => {
      field.value = 'none'
      field.dispatchEvent(new InputEvent('input', { bubbles: true }))
      history.go(-2)
    })
    // Longer than the pause after which text is applied.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)))
    await page.getByRole('treeitem', { name: 'acme', exact: true }).waitFor()
    assert.equal(page.url(), groups)
    assert.equal(await page.getByLabel('Search groups by name').inputValue(), '')
    expectNoProblems()
  })

  test('the link “Skip to content” moves the focus to the content, and keeps the URL', async () => {
    const { focused, pressUntil } = keyboardOf(page)
    await page.goto(groups)
    await heading('Groups').waitFor()
    await pressUntil('Tab', 'Skip to content')
    await page.keyboard.press('Enter')
    await focused(heading('Groups'))
    await page.keyboard.press('Tab')
    await page.locator('main :focus').waitFor()
    assert.equal(page.url(), groups)
    expectNoProblems()
  })

  test('the button of a menu opens and closes it', async () => {
    await page.goto(groups)
    const button = page.getByRole('button', { name: /^Account of / })
    const menu = page.getByRole('menu', { name: /^Account of / })
    for (const toggle of [() => button.click(), () => button.press('Enter')]) {
      await toggle()
      await menu.waitFor()
      await toggle()
      assert.equal(await menu.isVisible(), false)
    }
    expectNoProblems()
  })

  test('the focus returns to the element that had it before a dialog was opened', async () => {
    const { focused, chooseInPalette } = keyboardOf(page)
    await page.goto(groups)
    const link = page.getByRole('link', { name: 'New group' })
    await link.focus()
    for (const open of [() => page.keyboard.press('Enter'), () => chooseInPalette('new group')]) {
      await open()
      await focused(page.getByLabel('Name', { exact: true }))
      await page.keyboard.press('Escape')
      await focused(link)
    }
    expectNoProblems()
  })

  test('a second tab shows what the first one has changed', async () => {
    const second = await page.context().newPage()
    watchProblems(second, stage.platform.url, stage.problems)
    await second.goto(groups)
    await second.getByRole('heading', { level: 1, name: 'Groups' }).waitFor()
    await page.goto(`${groups}?dialog=create`)
    await page.getByLabel('Name', { exact: true }).fill('from the first tab')
    await page.keyboard.press('Enter')
    await second.getByRole('treeitem', { name: 'from the first tab' }).waitFor()
    await second.close()
    expectNoProblems()
  })
})
