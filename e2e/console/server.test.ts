// The pages about the whole server in a real browser: operators use them, and nobody else can open them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import { sql } from '@stemma/server/store/sql.ts'
import { noChromium } from '../sign-in/chromium.ts'
import { addAccount } from '../sign-in/sign-in.ts'
import { checkShown } from './check-page.ts'
import type { Stage } from './stage.ts'
import { makeOperator, openStage } from './stage.ts'

describe('the server in the console', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  let ada: string
  before(async () => {
    stage = await openStage()
    await makeOperator(stage)
    ada = await addAccount(stage.platform, 'ada@example.com')
    await addAccount(stage.platform, 'bea@example.com')
  })
  after(() => stage.close())
  const noProblems = () => assert.deepEqual(stage.problems.splice(0), [])

  /** Opens an entry of the menu of a row. */
  async function choose(row: string, entry: string): Promise<void> {
    await stage.page.getByRole('button', { name: `Actions for ${row}` }).click()
    await stage.page.getByRole('menuitem', { name: entry, exact: true }).click()
  }

  test('is in the menu and in the palette of an operator', async () => {
    const { page } = stage
    await page.goto(stage.at(paths.home()))
    await page.getByRole('button', { name: /^Account of/ }).click()
    await page.getByRole('menuitem', { name: 'Server' }).click()
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor()
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByText('Nothing needs attention').waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('keys server')
    await page.keyboard.press('Enter')
    await page.waitForURL(stage.at(paths.serverKeys()))
    noProblems()
  })

  test('is not shown to the owner of an organization who is no operator', async () => {
    await stage.platform.bind(ada, 'owner', stage.organization)
    const page = await stage.openPage(ada)
    await page.goto(stage.at(paths.home()))
    await page.getByRole('button', { name: /^Account of/ }).click()
    await page.getByRole('menuitem', { name: 'My account' }).click()
    await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor()
    assert.equal(await page.getByRole('menuitem', { name: 'Server', includeHidden: true }).count(), 0)
    stage.problems.splice(0)
    for (const path of [paths.serverPeople(), paths.serverKeys(), paths.serverHealth()]) {
      await page.goto(stage.at(path))
      await page.getByRole('heading', { level: 1, name: 'Access denied' }).waitFor()
      await page.getByText('Only operators of this server may do this').waitFor()
    }
    // The browser reports the status 403 of the calls; nothing else went wrong.
    assert.deepEqual(
      stage.problems.splice(0).filter((text) => !text.includes('status of 403')),
      [],
    )
    await page.context().close()
  })

  test('finds, disables and enables a person', async () => {
    const { page } = stage
    await page.goto(stage.at(paths.serverPeople()))
    await page.getByLabel('Search by name or address').fill('ADA')
    await page.getByText('1 in total').waitFor()
    await choose('ada@example.com', 'Disable')
    await page.getByRole('button', { name: 'Disable', exact: true }).click()
    await page.getByText('Person disabled').waitFor()
    await page.getByRole('row', { name: /ada@example\.com disabled/ }).waitFor()
    await page.getByLabel('State').selectOption('disabled')
    await page.getByText('1 in total').waitFor()
    await choose('ada@example.com', 'Enable')
    await page.getByRole('button', { name: 'Enable', exact: true }).click()
    await page.getByText('Nobody found').waitFor()
    noProblems()
  })

  test('resets a password, and shows the link once', async () => {
    const { page } = stage
    await page.goto(stage.at(paths.serverPeople()))
    await choose('bea@example.com', 'Reset password')
    await page.getByRole('button', { name: 'Reset password', exact: true }).click()
    const link = await page.getByLabel('link', { exact: true }).innerText()
    assert.match(link, /\/password\?code=[\w-]{32}$/)
    await checkShown(page, 'the link of a password')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /bea@example\.com no password yet/ }).waitFor()
    assert.ok(!(await page.content()).includes(link))
    noProblems()
  })

  test('removes a person after their name was typed, but never the account of this operator', async () => {
    const { page } = stage
    await page.goto(stage.at(paths.serverPeople()))
    await page.getByRole('button', { name: 'Actions for owner@example.com' }).click()
    const own = page.getByRole('menuitem', { name: 'Remove' }).and(page.locator(':visible'))
    assert.equal(await own.getAttribute('title'), 'Your own account is under My account.')
    await page.keyboard.press('Escape')
    await choose('bea@example.com', 'Remove')
    await page.getByLabel('Type bea@example.com to confirm').fill('bea@example.com')
    await page.getByRole('button', { name: 'Remove person' }).click()
    await page.getByText('Person removed').waitFor()
    await page.getByRole('row', { name: /bea@example\.com/ }).waitFor({ state: 'detached' })
    noProblems()
  })

  test('sets and removes a limit of an organization', async () => {
    const { page } = stage
    await page.goto(stage.at(paths.serverOrganizations()))
    await page.getByRole('link', { name: 'acme' }).click()
    await choose('repos', 'Set a limit')
    await page.getByLabel('At most').fill('20')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /^repos 0.*20 this group/ }).waitFor()
    await choose('repos', 'Set a limit')
    await page.getByLabel('At most').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /^repos 0 none/ }).waitFor()
    noProblems()
  })

  test('rotates the keys, including the one that signed the token of the page', async () => {
    const { page, platform } = stage
    await page.goto(stage.at(paths.serverKeys()))
    await page.getByRole('link', { name: 'Rotate now' }).click()
    await page.getByRole('button', { name: 'Rotate keys' }).click()
    await page.getByText('used soon').first().waitFor()
    await page.getByRole('link', { name: 'Rotate now' }).click()
    await page.getByRole('button', { name: 'Rotate keys' }).click()
    await page.getByText(/come into use within ten minutes/).waitFor()
    stage.problems.splice(0) // the browser reports the status 400 of the refused call
    await page.getByLabel(/A key may have leaked/).check()
    await page.getByRole('button', { name: 'Rotate keys' }).click()
    await page.getByText('used soon').first().waitFor({ state: 'detached' })
    const [row] = await platform.store.query(sql`select count(*) from keys`)
    assert.equal(Number(row?.[0]), 2)
    // The page has got another token by itself.
    await page.getByRole('link', { name: 'People' }).click()
    await page.getByRole('row', { name: /owner@example\.com/ }).waitFor()
    assert.deepEqual(
      stage.problems.splice(0).filter((text) => !text.includes('status of 401')),
      [],
    )
  })
})
