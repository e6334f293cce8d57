// Set-up and sign-in with the real server, the real client and a real Chromium, on the screen of a small phone. Every
// page is checked for accessibility.
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { freePort } from '../../api/testing/free-port.ts'
import type { Client, RunningProcess } from '../cli/client.ts'
import { openClient } from '../cli/client.ts'
import type { RunningServer } from '../server/stemmad.ts'
import { remove, serve, temporaryFolder } from '../server/stemmad.ts'
import { newBrowserContext, noChromium, openChromium } from './chromium.ts'
import { callRest } from './organizations.ts'
import { password } from './sign-in.ts'

const email = 'ada@example.com'
/** A client that runs longer is stopped, which fails its test. */
const clientTimeoutMs = 300_000

describe('in a browser', { timeout: 900_000, skip: noChromium ?? false }, () => {
  let folder: string
  let server: RunningServer
  let url: string
  let browser: Browser
  let page: Page
  /** Console messages, script errors and failed requests of the page. */
  let problems: string[] = []
  let client: Client
  const runningCommands = new Set<RunningProcess>()

  before(async () => {
    folder = await temporaryFolder()
    const port = await freePort()
    // The host is localhost, as in the README. The client's own callback listens on 127.0.0.1.
    url = `http://localhost:${port}`
    client = await openClient('inline')
    server = await serve(folder, ['--port', String(port), '--base-url', url])
    browser = await openChromium()
    const context = await newBrowserContext(browser, { viewport: { width: 320, height: 640 } })
    page = await context.newPage()
    page.on('console', (message) => problems.push(message.text()))
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('requestfailed', (request) => problems.push(`${request.url()} ${request.failure()?.errorText}`))
  })
  after(async () => {
    await browser?.close()
    for (const command of runningCommands) command.stop()
    server?.signal('SIGINT')
    await Promise.all([server?.exited, ...[...runningCommands].map(({ ended }) => ended)])
    await client.remove()
    await remove(folder)
  })
  afterEach(() => {
    // Expected error pages are asserted by the tests that visit them.
    const unexpected = problems.filter((text) => !/the server responded with a status of 4\d\d/.test(text))
    problems = []
    assert.deepEqual(unexpected, [])
  })

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const expectAlert = (problem: string) => page.getByRole('alert').filter({ hasText: problem }).waitFor()

  /** Expects the page with this title, and checks its accessibility. */
  async function expectPage(title: string): Promise<void> {
    await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
    assert.equal(await page.title(), `${title} · Stemma`)
    assert.equal(await page.locator('html').getAttribute('lang'), 'en')
    assert.equal(await page.getByRole('main').count(), 1)
    assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1)
    const fields = await page.locator('input:visible').all()
    for (const field of fields) {
      const label = page.locator(`label[for="${await field.getAttribute('id')}"]`)
      assert.notEqual(await label.innerText(), '')
    }
    // The browser sets the focus after it has shown the page.
    if (fields.length > 0) await page.locator('input:focus').waitFor()
    const overflowWidth = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
    assert.equal(await page.evaluate(overflowWidth), 0, `${title} scrolls sideways`)
  }

  /** Types the first text into the focused field and each other text into the next field, then presses Enter. */
  async function typeAndEnter(...texts: string[]): Promise<void> {
    for (const [at, text] of texts.entries()) {
      if (at > 0) await page.keyboard.press('Tab')
      await page.keyboard.type(text)
    }
    await page.keyboard.press('Enter')
  }

  function start(...args: string[]): RunningProcess {
    const command = client.startProcess(['auth', ...args])
    runningCommands.add(command)
    const timer = setTimeout(command.stop, clientTimeoutMs)
    void command.ended.then(() => {
      clearTimeout(timer)
      runningCommands.delete(command)
    })
    return command
  }

  async function organizationsOfClient(): Promise<string[]> {
    const { code, stdout, stderr } = await client.run(['auth', 'token'])
    assert.equal(code, 0, stderr)
    const { groups } = await callRest('GET', `${url}/iam/v2beta1/groups`, stdout.trim())
    return (groups as { name: string }[]).map(({ name }) => name)
  }

  /** Starts the client and opens the URL it prints. */
  async function beginSignIn(): Promise<RunningProcess> {
    const login = start('login', '--no-browser', '--api', url)
    const [, address = ''] = await login.stderrMatch(/Open this address to sign in:\s+(http\S+)\n/)
    await page.goto(address)
    return login
  }

  /** Expects the browser at the client's callback, and the client to succeed. */
  async function expectSignedIn(login: RunningProcess): Promise<void> {
    await page.waitForURL('http://127.0.0.1:*/**')
    await page.getByText('You are signed in.').waitFor()
    const { code, stderr } = await login.ended
    assert.equal(code, 0, stderr)
  }

  async function cancel(login: RunningProcess): Promise<void> {
    await button('Cancel').click()
    await page.waitForURL('http://127.0.0.1:*/**')
    await page.getByText('You are not signed in').waitFor()
    const { code, stderr } = await login.ended
    assert.equal(code, 1, stderr)
    assert.doesNotMatch(stderr, /\n {4}at /)
  }

  describe('the link that an empty server prints', () => {
    const link = () => /\S+\/set-up\?code=\S+/.exec(server.greeting)?.[0] ?? ''

    test('leads to a form that keeps the typed values, except the password, if one of them is invalid', async () => {
      await page.goto(link())
      await expectPage('Set up this server')
      await typeAndEnter('acme', email, 'too short')
      // The browser's own validation prevents sending.
      assert.equal(await page.locator('input:focus:invalid').getAttribute('name'), 'password')
      await page.getByLabel('Choose a password').fill('############')
      await button('Set up').click()
      await expectAlert('The password must be harder to guess.')
      await expectPage('Set up this server')
      assert.equal(await page.getByLabel('Name of the organization').inputValue(), 'acme')
      assert.equal(await page.getByLabel('Your e-mail address').inputValue(), email)
      assert.equal(await page.getByLabel('Choose a password').inputValue(), '')
      await page.getByLabel('Choose a password').fill(password)
      await button('Set up').click()
      await expectPage('acme is ready')
      await page.getByText(`npx @stemma/cli auth login --api ${url}`).waitFor()
    })

    test('cannot be used twice', async () => {
      await page.goto(link())
      await expectPage('This did not work')
      await expectAlert('This link was used before')
    })
  })

  describe('the sign-in page that the client opens', () => {
    test('accepts a password after a wrong one, with the keyboard only', async () => {
      const login = await beginSignIn()
      await expectPage('Sign in')
      await typeAndEnter(email, `not ${password}`)
      await expectAlert('The e-mail address or the password is wrong.')
      await expectPage('Sign in')
      assert.equal(await page.getByLabel('E-mail address').inputValue(), email)
      await page.getByLabel('Password').focus()
      await typeAndEnter(password)
      await expectSignedIn(login)
      assert.deepEqual(await organizationsOfClient(), ['acme'])
    })

    test('needs only one click from a person who has a session', async () => {
      const login = await beginSignIn()
      await expectPage('Continue?')
      await page.getByText(`You are signed in as ${email}.`).waitFor()
      assert.equal(
        await page.locator(':focus').count(),
        0,
        'a key that is held down must not press the button',
      )
      await button('Continue').click()
      await expectSignedIn(login)
    })

    test('reports a cancelled sign-in to the client', async () => {
      const login = await beginSignIn()
      await button('Use another account').click()
      await expectPage('Sign in')
      await cancel(login)
      assert.deepEqual(await organizationsOfClient(), ['acme'])
    })
  })

  test('a person signs a device in by its code', async () => {
    const login = start('login', '--device', '--api', url)
    const [address = ''] = await login.stderrMatch(/http\S+\/device\b/)
    const [code = ''] = await login.stderrMatch(/\b[A-Z]{4}-[A-Z]{4}\b/)
    await page.goto(address)
    await expectPage('Sign in a device')
    await typeAndEnter('BBBB-BBBB')
    await expectAlert('There is no such code.')
    await expectPage('Sign in a device')
    await typeAndEnter(code.toLowerCase().replace('-', ' '))
    await expectPage('Is this your device?')
    await page.getByText(code).waitFor()
    await button('Sign it in').click()
    await expectPage('Continue?')
    await button('Continue').click()
    await expectPage('Your device is signed in')
    const { code: exitCode, stderr } = await login.ended
    assert.equal(exitCode, 0, stderr)
    assert.deepEqual(await organizationsOfClient(), ['acme'])
  })

  describe('the sign-out page', () => {
    /** Starts a sign-in, expects the page with this title, and cancels. */
    const expectSignInPage = async (title: string) => {
      const login = await beginSignIn()
      await expectPage(title)
      await cancel(login)
    }

    test('keeps the session if the person chooses to stay signed in', async () => {
      await page.goto(`${url}/oauth/logout`)
      await expectPage('Sign out?')
      await button('Stay signed in').click()
      await page.waitForURL('**/oauth/logout/*')
      await expectSignInPage('Continue?')
    })

    test('ends the session, so that the next sign-in asks for the password', async () => {
      await page.goto(`${url}/oauth/logout`)
      await button('Sign out').click()
      await expectPage('Signed out')
      await expectSignInPage('Sign in')
    })
  })
})
