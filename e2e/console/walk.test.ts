// People use the console in a real browser, on both stores: they set up an empty server, and work
// with the keyboard only, with many groups, in two tabs, and after the end of a session.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import { signOutEverywhere } from '@stemma/server/auth/sign-outs.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import type { Page } from 'playwright-core'
import { newBrowserContext, noChromium } from '../sign-in/chromium.ts'
import { emptyServer } from '../sign-in/empty-server.ts'
import { addAccount, password } from '../sign-in/sign-in.ts'
import { keyboardOf } from './keyboard.ts'
import { addManyGroups } from './many-groups.ts'
import { watchProblems } from './problems.ts'
import type { Stage } from './stage.ts'
import { openStage, ownerEmail, signInContext } from './stage.ts'

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

  test('10,000 groups in a group are shown 200 at a time, reached with the keyboard, and found by name', async () => {
    const crowd = await addManyGroups(stage, 'crowd', 10_000)
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

  /** Enters e-mail address and password in the window that `open` opens. */
  async function signInAgain(on: Page, email: string, open: () => Promise<void>): Promise<void> {
    const [window] = await Promise.all([on.context().waitForEvent('page'), open()])
    await window.getByLabel('E-mail address').fill(email)
    await window.getByLabel('Password').fill(password)
    await window.keyboard.press('Enter')
  }

  test('the end of the session is explained, and what was typed is saved after a sign-in', async () => {
    const person = await addAccount(stage.platform, 'leaver@example.com')
    await stage.platform.bind(person, 'owner', stage.organization)
    const leaverPage = await stage.openPage(person)
    await leaverPage.goto(`${groups}?dialog=create`)
    await leaverPage.getByLabel('Name', { exact: true }).fill('typed before')
    await stage.platform.store.write(() => signOutEverywhere(person, Date.now()))
    await leaverPage.keyboard.press('Enter')
    const ended = leaverPage.getByRole('dialog', { name: 'Your session has ended' })
    await ended.waitFor()
    // Chrome closes a dialog at the second Esc, even if the page prevents it. The dialog must then open again.
    for (let presses = 0; presses < 2; presses++) await leaverPage.keyboard.press('Escape')
    await ended.waitFor()
    assert.equal(await leaverPage.getByLabel('Name', { exact: true }).inputValue(), 'typed before')
    await signInAgain(leaverPage, 'leaver@example.com', () =>
      ended.getByRole('button', { name: 'Sign in' }).click(),
    )
    await item(leaverPage, 'typed before').waitFor()
    assert.equal(leaverPage.url(), groups)
    await leaverPage.context().close()
    stage.problems.splice(0)
  })

  test('a tab that was idle keeps what was typed if the session has ended in the meantime', async () => {
    const email = 'idle@example.com'
    const person = await addAccount(stage.platform, email)
    await stage.platform.bind(person, 'owner', stage.organization)
    const idlePage = await stage.openPage(person)
    await idlePage.clock.install()
    await idlePage.goto(`${groups}?dialog=create`)
    await idlePage.getByLabel('Name', { exact: true }).fill('typed before a break')
    await stage.platform.store.write(() => signOutEverywhere(person, Date.now()))
    // The token expires, and when the person comes back, all data is loaded again.
    await idlePage.clock.fastForward('01:00:00')
    await idlePage.evaluate(() => void dispatchEvent(new Event('visibilitychange')))
    const ended = idlePage.getByRole('dialog', { name: 'Your session has ended' })
    await signInAgain(idlePage, email, () => ended.getByRole('button', { name: 'Sign in' }).click())
    await ended.waitFor({ state: 'detached' })
    assert.equal(await idlePage.getByLabel('Name', { exact: true }).inputValue(), 'typed before a break')
    await idlePage.getByRole('button', { name: 'Create group' }).click()
    await item(idlePage, 'typed before a break').waitFor()
    await idlePage.context().close()
    stage.problems.splice(0)
  })

  test('a change that one person submits is not sent again as another person who signs in', async () => {
    const [first, second] = ['first@example.com', 'second@example.com'] as const
    const people = [
      await addAccount(stage.platform, first),
      await addAccount(stage.platform, second),
    ] as const
    for (const person of people) await stage.platform.bind(person, 'owner', stage.organization)
    const shared = await stage.openPage(people[0])
    let sent = 0
    const createUrl = stage.at(`/iam/v2beta1/groups/${stage.organization}`)
    shared.on('request', (request) => {
      if (request.method() === 'POST' && request.url() === createUrl) sent++
    })
    const fillInAndEndSession = async () => {
      await signInContext(stage.platform, shared.context(), people[0])
      await shared.goto(`${groups}?dialog=create`)
      await shared.getByLabel('Name', { exact: true }).fill('of the first person')
      await stage.platform.store.write(() => signOutEverywhere(people[0], Date.now()))
    }
    const expectNotCreated = async () => {
      await shared.getByRole('button', { name: `Account of ${second}` }).waitFor()
      assert.equal(sent, 1)
      sent = 0
      assert.equal(await item(shared, 'of the first person').count(), 0)
    }

    await fillInAndEndSession()
    await shared.keyboard.press('Enter')
    const ended = shared.getByRole('dialog', { name: 'Your session has ended' })
    await signInAgain(shared, second, () => ended.getByRole('button', { name: 'Sign in' }).click())
    await expectNotCreated()

    // The other person has signed in in another tab, before the server refuses the token of the first one.
    await fillInAndEndSession()
    await signInContext(stage.platform, shared.context(), people[1])
    await shared.keyboard.press('Enter')
    await expectNotCreated()
    await shared.context().close()
    stage.problems.splice(0)
  })

  test('a change of ownership asks for a new sign-in, and is then made', async () => {
    const email = 'founder@example.com'
    const person = await addAccount(stage.platform, email)
    await stage.platform.bind(person, 'owner', stage.organization)
    const founderPage = await stage.openPage(person)
    const invite = stage.at(`${paths.access(stage.organization)}?dialog=add&who=invite`)
    await founderPage.goto(invite)
    const fillIn = async () => {
      await founderPage.getByLabel('E-mail address').fill('heir@example.com')
      await founderPage.getByLabel('Role', { exact: true }).selectOption({ label: 'owner' })
    }
    await fillIn()
    const create = founderPage.getByRole('button', { name: 'Create invite' })
    clockOffset = 16 * 60_000
    await create.click()
    const again = founderPage.getByRole('dialog', { name: 'Sign in again' })
    await again.getByRole('button', { name: 'Cancel' }).click()
    await founderPage.getByText('This needs a recent sign-in.').waitFor()
    assert.equal(await founderPage.getByLabel('E-mail address').inputValue(), 'heir@example.com')
    await create.click()
    await signInAgain(founderPage, email, () => again.getByRole('button', { name: 'Sign in' }).click())
    await founderPage.getByText('Send this link to the person').waitFor()

    // If the browser blocks the window, the sign-in takes the place of the page.
    clockOffset = 32 * 60_000
    await founderPage.addInitScript('window.open = () => null')
    await founderPage.goto(invite)
    await fillIn()
    await create.click()
    await again.getByRole('button', { name: 'Sign in' }).click()
    await founderPage.getByLabel('Password').fill(password)
    await founderPage.getByLabel('E-mail address').fill(email)
    await founderPage.keyboard.press('Enter')
    await founderPage.waitForURL(invite)
    await fillIn()
    await create.click()
    await founderPage.getByText('Send this link to the person').waitFor()
    await founderPage.context().close()
    stage.problems.splice(0)
  })
})
