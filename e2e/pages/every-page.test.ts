// Checks the pages outside of the console in a real browser: accessibility and layout on desktop
// and phone, in light and dark, and no problem in the browser. The pages of the documentation are
// in e2e/docs/try-it.test.ts.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startApp } from '@stemma/server/app.ts'
import { readConfig } from '@stemma/server/config/config.ts'
import { openLog } from '@stemma/server/log.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { temporaryStore } from '@stemma/server/testing/stores.ts'
import type { Page } from 'playwright-core'
import { freePort } from '../../api/testing/free-port.ts'
import type { Client, Running } from '../cli/client.ts'
import { openClient } from '../cli/client.ts'
import { addressIn } from '../cli/sign-in-steps.ts'
import { checkShown } from '../console/check-page.ts'
import { watchProblems } from '../console/problems.ts'
import type { Stage } from '../console/stage.ts'
import { openStage, ownerEmail } from '../console/stage.ts'
import { newBrowserContext, noChromium } from '../sign-in/chromium.ts'
import { callRest } from '../sign-in/organizations.ts'
import { password } from '../sign-in/sign-in.ts'

/** Longer than the screen of a phone, without a place to break the line. */
const longName = 'verylongname'.repeat(5)

describe('every page outside of the console', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  let client: Client
  before(async () => {
    stage = await openStage()
    client = await openClient('inline')
  })
  after(async () => {
    await stage.close()
    await client.remove()
  })

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  /** Checks the page with this first heading. Ignores browser messages about the status 4xx. */
  async function checkPage(page: Page, heading: string): Promise<void> {
    await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
    await checkShown(page, heading)
    const isUnexpected = (problem: string) => !/^Failed to load resource: .* a status of 4\d\d/.test(problem)
    assert.deepEqual(stage.problems.splice(0).filter(isUnexpected), [], `problems on ${heading}`)
  }

  test('the start page', async () => {
    await stage.page.goto(stage.at('/'))
    await checkPage(stage.page, new URL(stage.platform.url).host)
  })

  for (const [path, heading, status] of [
    ['/nothing', 'Page not found', 404],
    ['/invite/nonsense', 'This did not work', 404],
    ['/device', 'Sign in a device', 200],
  ] as const)
    test(path, async () => {
      const answer = await stage.page.goto(stage.at(path))
      assert.equal(answer?.status(), status)
      await checkPage(stage.page, heading)
    })

  test('an invite to an organization with a long name, and the sign-in that it leads to', async () => {
    const { page, platform } = stage
    const { organization, token } = await platform.addOrganization(longName)
    const invites = `${platform.url}/iam/v2beta1/groupInvites/${organization}`
    const invite = { roleUid: builtInRole('viewer').uid, ttl: '600s' }
    await page.goto(String((await callRest('POST', invites, token, invite)).url))
    await checkPage(page, `Join ${longName}`)
    await button(page, 'Sign in and accept').click()
    await checkPage(page, 'Sign in')
  })

  /** Opens the page to which the command line sends a person. */
  async function beginSignIn(page: Page): Promise<Running> {
    const login = client.start(['auth', 'login', '--no-browser', '--api', stage.platform.url])
    await page.goto(await addressIn(login))
    return login
  }

  /**
   * Checks the page that the command line serves. It has another origin, so the request for it is
   * noted as a problem, which is removed.
   */
  async function checkCallback(page: Page, heading: string, login: Running, code: number): Promise<void> {
    await page.waitForURL('http://127.0.0.1:*/callback?*')
    const callback = stage.problems.indexOf(`requests ${page.url()}`)
    assert.notEqual(callback, -1)
    stage.problems.splice(callback, 1)
    await checkPage(page, heading)
    assert.equal((await login.ended).code, code)
  }

  test('the sign-in for the command line, and the page on which it ends', async () => {
    const { page } = stage
    const login = await beginSignIn(page)
    await page.getByLabel('E-mail address').fill(ownerEmail)
    await page.getByLabel('Password').fill(`not ${password}`)
    await button(page, 'Sign in').click()
    await page.getByRole('alert').waitFor()
    await checkPage(page, 'Sign in')
    await page.getByLabel('Password').fill(password)
    await button(page, 'Sign in').click()
    await checkCallback(page, 'Signed in', login, 0)
    await page.goto(stage.at('/oauth/logout'))
    await checkPage(page, 'Sign out?')

    const cancelled = await beginSignIn(page)
    await checkPage(page, 'Continue?')
    await button(page, 'Use another account').click()
    await button(page, 'Cancel').click()
    await checkCallback(page, 'Not signed in', cancelled, 1)
  })

  test('the set-up of a server with a long name', async () => {
    const temporary = await temporaryStore('sqlite')
    const port = await freePort()
    // Browsers resolve every name below localhost to this machine.
    const host = `${longName}.localhost:${port}`
    const url = `http://${host}`
    const settings = [...temporary.settings, '--port', String(port), '--base-url', url]
    const { config } = readConfig({}, [...settings, '--log-level', 'silent', '--drain-delay', '0'])
    const app = await startApp(config, openLog('silent'))
    const context = await newBrowserContext(stage.browser, { javaScriptEnabled: true })
    try {
      const page = await context.newPage()
      watchProblems(page, url, stage.problems)
      await page.goto(url)
      await checkPage(page, `${host} is not set up yet`)
      await page.goto(app.setUpLink ?? '')
      await page.getByLabel('Name of the organization').fill('acme')
      await page.getByLabel('Your e-mail address').fill(ownerEmail)
      await page.getByLabel('Choose a password').fill('############')
      await button(page, 'Set up').click()
      await page.getByRole('alert').waitFor()
      await checkPage(page, 'Set up this server')
      await page.getByLabel('Choose a password').fill(password)
      await button(page, 'Set up').click()
      await checkPage(page, 'acme is ready')
    } finally {
      await context.close()
      await app.stop(true)
      await temporary.remove()
    }
  })
})
