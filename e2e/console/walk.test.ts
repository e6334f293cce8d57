// People use the console in a real browser: from the set-up of the server on, with the keyboard only, in two tabs, without
// the rights, and after the end of a session.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import { signOutEverywhere } from '@stemma/server/auth/sign-outs.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import type { Page } from 'playwright-core'
import { newBrowserContext, noChromium } from '../sign-in/chromium.ts'
import { emptyServer } from '../sign-in/empty-server.ts'
import { addAccount, password } from '../sign-in/sign-in.ts'
import { checkShown } from './check-page.ts'
import { addCrowd } from './crowd.ts'
import { watchProblems } from './problems.ts'
import type { Stage } from './stage.ts'
import { openStage, ownerEmail } from './stage.ts'

onEachStore('in the console', (engine) => {
  if (noChromium) {
    test('needs Chromium', { skip: noChromium }, () => {})
    return
  }
  let stage: Stage
  let page: Page
  let groups: string
  let clockOffset = 0
  before(async () => {
    stage = await openStage(engine, [], { now: () => Date.now() + clockOffset })
    page = stage.page
    groups = stage.at(paths.groups(stage.organization))
  })
  after(() => stage.close())

  const expectNoProblems = () => assert.deepEqual(stage.problems.splice(0), [])
  const heading = (on: Page, name: string) => on.getByRole('heading', { level: 1, name, exact: true })
  const item = (on: Page, name: string) => on.getByRole('treeitem', { name, exact: true })
  const toast = (text: string) => page.getByRole('status').getByText(text).waitFor()

  test('a person signs in, comes back to the page they opened, and signs out', async () => {
    const context = await newBrowserContext(stage.browser, { javaScriptEnabled: true })
    const visitor = await context.newPage()
    watchProblems(visitor, stage.platform.url, stage.problems)
    await visitor.goto(groups)
    await visitor.getByLabel('E-mail address').fill(ownerEmail)
    await visitor.getByLabel('Password').fill(password)
    await visitor.keyboard.press('Enter')
    await visitor.waitForURL(groups)
    await heading(visitor, 'Groups').waitFor()
    await visitor.getByRole('button', { name: `Account of ${ownerEmail}` }).click()
    await visitor.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
    await visitor.waitForURL(stage.at('/'))
    await visitor.goto(groups)
    await visitor.getByLabel('Password').waitFor()
    await context.close()
    expectNoProblems()
  })

  test('an empty server is set up by its link, and gets its first group, in the browser only', async () => {
    const { url, start, remove } = await emptyServer(engine)
    const app = await start()
    const context = await newBrowserContext(stage.browser, { javaScriptEnabled: true })
    try {
      const founder = await context.newPage()
      watchProblems(founder, url, stage.problems)
      await founder.goto(app.setUpLink ?? '')
      await founder.getByLabel('Name of the organization').fill('new company')
      await founder.getByLabel('Your e-mail address').fill('ada@example.com')
      await founder.getByLabel('Choose a password').fill(password)
      await founder.keyboard.press('Enter')
      await founder.getByRole('link', { name: 'Open the console' }).click()
      await founder.getByRole('link', { name: 'new company' }).click()
      await heading(founder, 'new company').waitFor()
      await founder.getByRole('link', { name: 'Divide it into groups' }).click()
      await founder.getByLabel('Name', { exact: true }).fill('platform')
      await founder.keyboard.press('Enter')
      await item(founder, 'platform').waitFor()
      expectNoProblems()
    } finally {
      await context.close()
      await app.stop(true)
      await remove()
    }
  })

  test('the keyboard is enough to create, rename and delete a group', async () => {
    await page.goto(groups)
    await heading(page, 'Groups').waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or go to' }).waitFor()
    await page.keyboard.type('new group')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'New group' }).waitFor()
    await page.keyboard.type('platform')
    await page.keyboard.press('Enter')
    await toast('Group created')
    await item(page, 'platform').waitFor()
    await item(page, 'acme').focus()
    await page.keyboard.press('ArrowDown')
    assert.equal(await page.locator(':focus').getAttribute('aria-level'), '2')
    await chooseByKeyboard('Rename or describe')
    const edit = page.getByRole('dialog', { name: 'Rename or describe' })
    await edit.getByLabel('Name', { exact: true }).waitFor()
    await edit.getByLabel('Name', { exact: true }).fill('engine room')
    await page.keyboard.press('Enter')
    await toast('Group changed')
    await item(page, 'engine room').focus()
    await chooseByKeyboard('Delete')
    await page.getByText('The group is empty.').waitFor()
    await page.getByRole('button', { name: 'Delete group' }).focus()
    await page.keyboard.press('Enter')
    await toast('Group deleted')
    await item(page, 'engine room').waitFor({ state: 'detached' })
    expectNoProblems()
  })

  test('open groups of the tree are in the URL, and deep trees and long names fit a phone', async () => {
    const name = `level ${'very-long-name-'.repeat(15)}`
    let parent = stage.organization
    for (let level = 0; level < 20; level++) {
      const group = { name: level === 0 ? 'deep' : name, description: 'وصف المجموعة من اليمين إلى اليسار' }
      parent = String((await stage.call('POST', `/iam/v2beta1/groups/${parent}`, group)).uid)
    }
    await page.goto(groups)
    await item(page, 'deep').focus()
    for (let level = 0; level < 19; level++) {
      await page.keyboard.press('ArrowRight')
      await page.locator(`[aria-level="${level + 3}"]`).waitFor()
      await page.keyboard.press('ArrowDown')
    }
    await checkShown(page, 'a deep tree')
    await page.reload()
    await page.locator('[aria-level="21"]').waitFor()
    await page.goto(stage.at(paths.group(parent)))
    await heading(page, name).waitFor()
    await checkShown(page, 'a group with a long name, far down')
    expectNoProblems()
  })

  test('10,000 groups in one are shown 200 at a time with the keyboard, and found by name', async () => {
    const crowd = await addCrowd(stage, 'crowd', 10_000)
    const expectFocus = (name: string) =>
      page.locator(`[role=treeitem]:focus > .tree-row > .tree-label:text-is("${name}")`).waitFor()
    const items = page.getByRole('treeitem')
    await page.goto(stage.at(paths.groups(crowd)))
    await item(page, 'crowd-00199').waitFor()
    assert.equal(await items.count(), 201)
    await item(page, 'crowd').focus()
    await page.keyboard.press('ArrowDown')
    await expectFocus('crowd-00000')
    await page.keyboard.press('End')
    await expectFocus('crowd-00199')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    assert.equal(await page.locator(':focus').innerText(), 'Show more')
    await page.keyboard.press('Enter')
    await expectFocus('crowd-00200')
    assert.equal(await items.count(), 401)
    await page.keyboard.press('ArrowUp')
    await expectFocus('crowd-00199')
    await page.keyboard.press('End')
    await expectFocus('crowd-00399')
    await page.keyboard.press('ArrowLeft')
    await expectFocus('crowd')

    await page.getByLabel('Search groups by name').fill('d-05')
    await page.getByText('1,000 in total').waitFor()
    await page.getByLabel('Search groups by name').fill('d-05000')
    await page.getByText('1 in total').waitFor()
    await page.getByRole('link', { name: 'crowd-05000' }).click()
    await heading(page, 'crowd-05000').waitFor()
    expectNoProblems()
  })

  test('a shared link to a later page of a list leads back to the first page', async () => {
    const many = await addCrowd(stage, 'many', 120)
    const first = stage.at(`${paths.groups(many)}?name=many`)
    const link = (on: Page, name: string) => on.getByRole('link', { name, exact: true }).waitFor()
    const press = (on: Page, name: string) => on.getByRole('button', { name, exact: true }).click()
    await page.goto(first)
    await link(page, 'many-00000')
    await press(page, 'Next')
    await link(page, 'many-00050')
    await press(page, 'Next')
    await link(page, 'many-00100')
    assert.equal(await page.getByRole('button', { name: 'Next', exact: true }).count(), 0)

    const reader = await addAccount(stage.platform, 'reader@example.com')
    await stage.platform.bind(reader, 'viewer', stage.organization)
    const reading = await stage.openPage(reader)
    await reading.goto(page.url())
    await link(reading, 'many-00100')
    await press(reading, 'First page')
    await link(reading, 'many-00000')
    assert.equal(reading.url(), first)
    await reading.context().close()

    await press(page, 'Previous')
    await link(page, 'many-00050')
    await press(page, 'Previous')
    await link(page, 'many-00000')
    assert.equal(page.url(), first)
    expectNoProblems()
  })

  /** Opens the menu of the focused item of the tree, and moves to an entry. */
  async function chooseByKeyboard(entry: string): Promise<void> {
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: entry }).waitFor()
    const isThere = () => page.locator(':focus').innerText()
    for (let count = 0; count < 5 && (await isThere()) !== entry; count++)
      await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
  }

  test('an invalid name is explained at its field, and keeps what was typed', async () => {
    await page.goto(`${groups}?dialog=create`)
    await page.getByLabel('Name', { exact: true }).fill('No Capitals')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'No Capitals')
    assert.equal(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid'), 'true')
    stage.problems.splice(0)
  })

  test('back and forward go through pages and dialogs', async () => {
    await page.goto(stage.at(paths.group(stage.organization)))
    await heading(page, 'acme').waitFor()
    await page.getByRole('link', { name: 'Groups', exact: true }).click()
    await heading(page, 'Groups').waitFor()
    await page.getByRole('link', { name: 'New group' }).click()
    const dialog = page.getByRole('dialog', { name: 'New group' })
    await dialog.waitFor()
    await page.goBack()
    await dialog.waitFor({ state: 'detached' })
    await page.goBack()
    await heading(page, 'acme').waitFor()
    await page.goForward()
    await page.goForward()
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    assert.equal(page.url(), groups)
    expectNoProblems()
  })

  test('the focus returns to what opened a dialog', async () => {
    await page.goto(groups)
    await page.getByRole('link', { name: 'New group' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'New group' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('a:focus', { hasText: 'New group' }).waitFor()
    expectNoProblems()
  })

  test('a second tab shows what the first one has changed', async () => {
    const second = await page.context().newPage()
    watchProblems(second, stage.platform.url, stage.problems)
    await second.goto(groups)
    await heading(second, 'Groups').waitFor()
    await page.goto(`${groups}?dialog=create`)
    await page.getByLabel('Name', { exact: true }).fill('from the first tab')
    await page.keyboard.press('Enter')
    await item(second, 'from the first tab').waitFor()
    await second.close()
    expectNoProblems()
  })

  test('a viewer sees why actions are disabled', async () => {
    const viewer = await addAccount(stage.platform, 'viewer@example.com')
    await stage.platform.bind(viewer, 'viewer', stage.organization)
    const viewing = await stage.openPage(viewer)
    await viewing.goto(groups)
    const create = viewing.getByRole('button', { name: 'New group' })
    await create.waitFor()
    assert.equal(await create.getAttribute('aria-disabled'), 'true')
    assert.match((await create.getAttribute('title')) ?? '', /^You need the capability groups\.create/)
    await create.click({ force: true })
    assert.equal(viewing.url(), groups)
    await viewing.context().close()
    expectNoProblems()
  })

  /** Signs in in the window that `open` opens, with the password. */
  async function signInAgain(on: Page, email: string, open: () => Promise<void>): Promise<void> {
    const [window] = await Promise.all([on.context().waitForEvent('page'), open()])
    await window.getByLabel('E-mail address').fill(email)
    await window.getByLabel('Password').fill(password)
    await window.keyboard.press('Enter')
  }

  test('the end of the session is explained, and what was typed is saved after a sign-in', async () => {
    const person = await addAccount(stage.platform, 'leaver@example.com')
    await stage.platform.bind(person, 'owner', stage.organization)
    const leaving = await stage.openPage(person)
    await leaving.goto(`${groups}?dialog=create`)
    await leaving.getByLabel('Name', { exact: true }).fill('typed before')
    await stage.platform.store.write(() => signOutEverywhere(person, Date.now()))
    await leaving.keyboard.press('Enter')
    const ended = leaving.getByRole('dialog', { name: 'Your session has ended' })
    await ended.waitFor()
    assert.equal(await leaving.getByLabel('Name', { exact: true }).inputValue(), 'typed before')
    await signInAgain(leaving, 'leaver@example.com', () =>
      ended.getByRole('button', { name: 'Sign in' }).click(),
    )
    await item(leaving, 'typed before').waitFor()
    assert.equal(leaving.url(), groups)
    await leaving.context().close()
    stage.problems.splice(0)
  })

  test('a change of ownership asks for a new sign-in, and is then made', async () => {
    const email = 'founder@example.com'
    const person = await addAccount(stage.platform, email)
    await stage.platform.bind(person, 'owner', stage.organization)
    const founding = await stage.openPage(person)
    await founding.goto(stage.at(`${paths.access(stage.organization)}?dialog=add&who=invite`))
    await founding.getByLabel('E-mail address').fill('heir@example.com')
    await founding.getByLabel('Role', { exact: true }).selectOption({ label: 'owner' })
    const create = founding.getByRole('button', { name: 'Create invite' })
    clockOffset = 16 * 60_000
    await create.click()
    const again = founding.getByRole('dialog', { name: 'Sign in again' })
    await again.getByRole('button', { name: 'Cancel' }).click()
    await founding.getByText('This needs a sign-in that is not long ago.').waitFor()
    assert.equal(await founding.getByLabel('E-mail address').inputValue(), 'heir@example.com')
    await create.click()
    await signInAgain(founding, email, () => again.getByRole('button', { name: 'Sign in' }).click())
    await founding.getByText('Send this link to the person').waitFor()
    await founding.context().close()
    stage.problems.splice(0)
  })
})
