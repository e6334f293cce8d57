// Sessions that end while a person uses the console in a real browser: what was typed is kept. The
// ends themselves are tested on both stores, in session.test.ts and e2e/sign-in/fresh-sign-in.test.ts.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import { signOutEverywhere } from '@stemma/server/auth/sign-outs.ts'
import type { Page } from 'playwright-core'
import { noChromium } from '../sign-in/chromium.ts'
import { addAccount, password } from '../sign-in/sign-in.ts'
import type { Stage } from './stage.ts'
import { openStage, signInContext } from './stage.ts'

describe('a console whose session has ended', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  let groups: string
  let clockOffset = 0
  before(async () => {
    stage = await openStage('sqlite', [], { now: () => Date.now() + clockOffset })
    groups = stage.at(paths.groups(stage.organization))
  })
  after(() => stage.close())

  const item = (on: Page, name: string) => on.getByRole('treeitem', { name, exact: true })

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
