// The account page in a real browser.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import { noChromium } from '../sign-in/chromium.ts'
import { checkShown } from './check-page.ts'
import type { Stage } from './stage.ts'
import { openStage } from './stage.ts'

describe('my account in the console', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  before(async () => {
    stage = await openStage()
  })
  after(() => stage.close())
  const noProblems = () => assert.deepEqual(stage.problems.splice(0), [])

  test('a name is changed', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.account()}?dialog=rename`))
    await page.getByLabel('Name', { exact: true }).fill('the owner')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Name changed').waitFor()
    await page.getByText('the owner', { exact: true }).waitFor()
    noProblems()
  })

  test('a passkey is added with the authenticator of the browser, and removed', async () => {
    const { page } = stage
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
        ...{ isUserVerified: true, automaticPresenceSimulation: true },
      },
    })
    await page.goto(stage.at(`${paths.account()}?dialog=passkey`))
    await page.getByLabel('Name', { exact: true }).fill('laptop')
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByRole('button', { name: 'Actions for laptop' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Remove passkey' }).click()
    await page.getByRole('heading', { name: 'No passkeys' }).waitFor()
    noProblems()
  })

  test('the session of this browser is marked, and another one can be ended', async () => {
    const { page } = stage
    const other = await stage.openPage()
    await other.goto(stage.at(paths.account()))
    await page.goto(stage.at(paths.account()))
    const sessions = page.getByRole('table', { name: 'Sessions' }).getByRole('row')
    await sessions.filter({ hasText: 'this browser' }).waitFor()
    assert.equal(await sessions.filter({ hasText: 'this browser' }).count(), 1)
    await sessions.getByRole('button', { name: 'Actions for this browser' }).waitFor()
    await sessions.filter({ hasNotText: 'this browser' }).last().getByRole('button').click()
    await page.getByRole('menuitem', { name: 'End this session' }).click()
    await page.getByText('Session ended').waitFor()
    await other.reload()
    await other.getByLabel('Password').waitFor()
    await other.context().close()
    // The other page may have sent a request when its session had ended.
    const problems = stage.problems.splice(0).filter((problem) => !problem.includes('401'))
    assert.deepEqual(problems, [])
  })

  test('the dialog of an authenticator app shows its key, also as a QR code', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.account()}?dialog=app`))
    assert.match(await page.getByLabel('key', { exact: true }).innerText(), /^[A-Z2-7 ]{16,}$/)
    assert.ok((await page.getByRole('img', { name: 'QR code for the app' }).boundingBox())?.height)
    await checkShown(page, 'the dialog of an authenticator app')
    noProblems()
  })
})
