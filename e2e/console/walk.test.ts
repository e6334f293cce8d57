// People use the console in a real browser, on both stores: they set up an empty server, and work
// with the keyboard only, and with many groups.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import type { Page } from 'playwright-core'
import { newBrowserContext, noChromium } from '../sign-in/chromium.ts'
import { emptyServer } from '../sign-in/empty-server.ts'
import { addAccount, password } from '../sign-in/sign-in.ts'
import { keyboardOf } from './keyboard.ts'
import { addManyGroups } from './many-groups.ts'
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
  before(async () => {
    stage = await openStage(engine)
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

  test('the keyboard is enough to create and delete a group, and to give, explain and remove access', async () => {
    const { focused, pressUntil, followLinkAbove, chooseInMenu, chooseInPalette } = keyboardOf(page)
    await stage.call('POST', `/iam/v2beta1/identities/${stage.organization}`, {
      ...{ name: 'robot', claimMatch: { issuer: 'https://issuer.example.com', subject: 'robot' } },
    })
    const { promise: enterPressed, resolve: answerSearch } = Promise.withResolvers<void>()
    const searchUrl = /name_?contains=robot/i
    await page.route(searchUrl, (route) => enterPressed.then(() => route.continue()), { times: 1 })
    await page.goto(groups)
    await heading(page, 'Groups').waitFor()
    await chooseInPalette('new group')
    await focused(page.getByLabel('Name', { exact: true }))
    await page.keyboard.type('platform')
    await page.keyboard.press('Enter')
    await toast('Group created')
    await item(page, 'platform').waitFor()
    await pressUntil('Tab', 'New group')
    await pressUntil('Tab', 'acme')
    await pressUntil('ArrowDown', 'platform')
    await chooseInMenu('platform', 'Rename or describe')
    await focused(page.getByLabel('Name', { exact: true }))
    await page.keyboard.press('Control+a')
    await page.keyboard.type('engine room')
    await page.keyboard.press('Enter')
    await toast('Group changed')
    await item(page, 'engine room').waitFor()
    await followLinkAbove('engine room')
    await followLinkAbove('Access')

    await pressUntil('Tab', 'Add access')
    await page.keyboard.press('Enter')
    await focused(page.getByRole('combobox', { name: 'Person or workload' }))
    await page.getByRole('option', { name: `${ownerEmail} person` }).waitFor()
    // Enter chooses nobody until the suggestions for the whole text have arrived.
    const search = page.waitForRequest(searchUrl)
    await page.keyboard.type('robot')
    await page.keyboard.press('Enter')
    await search
    answerSearch()
    await page.getByRole('option', { name: 'robot workload', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('list', { name: 'Chosen' }).getByText('robot').waitFor()
    await pressUntil('Tab', 'Role')
    // Letters choose an option too, but only if they follow each other quickly.
    const role = page.getByLabel('Role', { exact: true }).locator('option:checked')
    for (let count = 0; count < 30 && (await role.textContent()) !== 'viewer'; count++)
      await page.keyboard.press('ArrowDown')
    await page.getByText('robot gets viewer in engine room').waitFor()
    await pressUntil('Tab', 'Add access')
    await page.keyboard.press('Enter')
    await toast('Access added')
    const row = page.getByRole('row', { name: 'robot workload viewer here' })
    await row.waitFor()

    await chooseInMenu('robot', 'Why')
    await focused(heading(page, 'Why'))
    await page.getByText('robot may do groups.list here').waitFor()
    await followLinkAbove('Access')
    await row.waitFor()
    await chooseInMenu('robot', 'Remove')
    await page.getByText('robot loses this role here').waitFor()
    await pressUntil('Tab', 'Remove role binding')
    await page.keyboard.press('Enter')
    await toast('Access removed')
    await row.waitFor({ state: 'detached' })

    await chooseInPalette('groups')
    await focused(heading(page, 'Groups'))
    await followLinkAbove('acme')
    await followLinkAbove('Groups')
    await item(page, 'engine room').waitFor()
    await pressUntil('Tab', 'acme')
    await pressUntil('ArrowDown', 'engine room')
    await chooseInMenu('engine room', 'Delete')
    await page.getByText('The group is empty.').waitFor()
    await pressUntil('Tab', 'Delete group')
    await page.keyboard.press('Enter')
    await toast('Group deleted')
    await item(page, 'engine room').waitFor({ state: 'detached' })
    expectNoProblems()
  })

  test('1,100 groups in a group are shown 200 at a time, reached with the keyboard, and found by name', async () => {
    const crowd = await addManyGroups(stage, 'crowd', 1100)
    const expectFocus = (name: string) =>
      page.locator(`[role=treeitem]:focus > .tree-row > .tree-label:text-is("${name}")`).waitFor()
    const items = page.locator('[role=treeitem]')
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

    await page.getByLabel('Search groups by name').fill('d-00')
    await page.getByText('1,000 in total').waitFor()
    await page.getByLabel('Search groups by name').fill('d-00999')
    await page.getByText('1 in total').waitFor()
    await page.getByRole('link', { name: 'crowd-00999' }).click()
    await heading(page, 'crowd-00999').waitFor()
    expectNoProblems()
  })

  test('a shared link opens a later page of a list, from which the first page can be reached', async () => {
    const many = await addManyGroups(stage, 'many', 120)
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
    const readerPage = await stage.openPage(reader)
    await readerPage.goto(page.url())
    await link(readerPage, 'many-00100')
    await press(readerPage, 'First page')
    await link(readerPage, 'many-00000')
    assert.equal(readerPage.url(), first)
    await readerPage.context().close()

    await press(page, 'Previous')
    await link(page, 'many-00050')
    await press(page, 'Previous')
    await link(page, 'many-00000')
    assert.equal(page.url(), first)
    expectNoProblems()
  })
})
