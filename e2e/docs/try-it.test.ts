// The documentation in a real browser with a console session: calls that its forms send, and
// attacks on these forms.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Locator, Page, Request } from 'playwright-core'
import { checkColorsOnPhone, checkPage, checkShown } from '../console/check-page.ts'
import { watchProblems } from '../console/problems.ts'
import type { Stage } from '../console/stage.ts'
import { openStage, ownerEmail } from '../console/stage.ts'
import { newBrowserContext, noChromium } from '../sign-in/chromium.ts'
import { password } from '../sign-in/sign-in.ts'

const groupsPage = '/docs/iam-v2beta1-groups'
const markup = `<img src=x onerror="document.title='attacked'"><script>document.title='attacked'</script>`

describe('the documentation', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  let page: Page
  before(async () => {
    stage = await openStage()
    page = stage.page
  })
  after(() => stage.close())

  const formOf = async (anchor: string): Promise<Locator> => {
    const article = page.locator(`#${anchor}`)
    await article.getByText('Try it', { exact: true }).click()
    return article.locator('form')
  }

  /** Collects the requests of the page from now on, except for those to the documentation itself. */
  function watchCalls(): string[] {
    const calls: string[] = []
    page.on('request', (request: Request) => {
      const { pathname } = new URL(request.url())
      if (!pathname.startsWith('/docs')) calls.push(`${request.method()} ${pathname}`)
    })
    return calls
  }

  /** False for the requests of an open form itself: the token, and the groups that it suggests. */
  const isCall = (request: string) => !['POST /console/token', 'GET /iam/v2beta1/groups'].includes(request)

  for (const [path, heading] of [
    ['/docs', 'Documentation'],
    ['/docs/registry', 'Registry'],
    ['/docs/iam-v2beta1-terms', 'Terms (v2beta1)'],
  ] as const)
    test(`is accessible at ${path}`, () => checkPage(stage, path, heading))

  test('has a button for its menu on phones, with enough contrast', async () => {
    await page.goto(stage.at('/docs'))
    await checkColorsOnPhone(page, '/docs')
  })

  test('sends a read call at once, and shows markup in the answer as text', async () => {
    const { organization } = stage
    await stage.call('PATCH', `/iam/v2beta1/groups/${organization}`, { description: markup })
    await page.goto(stage.at(groupsPage))
    const form = await formOf('getgroup')
    await form.getByText(`You are signed in as ${ownerEmail}.`).waitFor()
    await form.getByLabel('uid').fill(organization)
    await form.getByRole('button', { name: 'Send' }).click()
    await form.getByText(/^200 OK · \d+ ms · \d+ bytes$/).waitFor()
    const shown = JSON.parse((await form.locator('.answer pre').textContent()) ?? '')
    assert.deepEqual([shown.uid, shown.description], [organization, markup])
    assert.equal(await form.locator('.answer').locator('img, script').count(), 0)
    assert.match(await page.title(), /^Groups/)
    await checkShown(page, 'an open form with an answer')
    assert.deepEqual(stage.problems.splice(0), [])
  })

  test('asks for a confirmation before it sends a write call', async () => {
    await page.goto(stage.at(groupsPage))
    const calls = watchCalls()
    const form = await formOf('creategroup')
    await form.getByLabel('parent').fill(stage.organization)
    await form.getByLabel('Body').fill('{"name": "tried"}')
    await form.getByRole('button', { name: 'Send …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Send this call?' })
    await dialog.getByText(ownerEmail).waitFor()
    await checkShown(page, 'the confirmation')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await form.getByRole('button', { name: 'Send …' }).click()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.ok(!calls.some((call) => call.startsWith('POST /iam')), calls.join())
    await form.getByRole('button', { name: 'Send …' }).click()
    await dialog.getByRole('button', { name: 'Send' }).click()
    await form.getByText(/^200 OK/).waitFor()
    const { groups } = await stage.call('GET', '/iam/v2beta1/groups?name=tried')
    assert.equal((groups as unknown[]).length, 1)
    assert.deepEqual(stage.problems.splice(0), [])
  })

  test('sends no other call than the one that it shows', async () => {
    const calls = watchCalls()
    const openForm = async () => {
      await page.goto(stage.at(groupsPage))
      return formOf('getgroup')
    }
    for (const value of ['..', '.']) {
      const form = await openForm()
      await form.getByLabel('uid').fill(value)
      await form.getByRole('button', { name: 'Send' }).click()
      await form.getByText('uid is not a uid').waitFor()
    }
    const form = await openForm()
    await form.getByLabel('uid').fill('../../../console/token?x#y')
    await form.getByRole('button', { name: 'Send' }).click()
    await form.locator('.status', { hasText: /^4\d\d/ }).waitFor()
    assert.deepEqual(calls.filter(isCall), ['GET /iam/v2beta1/groups/..%2F..%2F..%2Fconsole%2Ftoken%3Fx%23y'])
    stage.problems.splice(0)
  })

  test('does not fill in or send a call because of a query or a fragment', async () => {
    const calls = watchCalls()
    const hash = '#try-creategroup'
    const query = `?parent=${stage.organization}&body=%7B%22name%22%3A%22linked%22%7D&send=1`
    const form = page.locator(hash)
    const open = async (path: string) => {
      await page.goto(stage.at(path))
      await form.getByText(`You are signed in as ${ownerEmail}.`).waitFor()
      const values = [form.getByLabel('parent').inputValue(), form.getByLabel('Body').inputValue()]
      return Promise.all(values)
    }
    const linked = await open(groupsPage + query + hash)
    assert.deepEqual(calls.filter(isCall), [])
    for (const path of [
      `${groupsPage}#"><img src=x onerror=alert(1)>`,
      `/docs?q=${encodeURIComponent(`"><script>document.title='attacked'</script>`)}`,
    ]) {
      await page.goto(stage.at(path))
      await page.getByRole('heading', { level: 1 }).waitFor()
      assert.doesNotMatch(await page.title(), /attacked/)
    }
    const initial = await open(groupsPage + hash)
    assert.equal(initial[0], '')
    assert.deepEqual(linked, initial)
    assert.deepEqual(calls.filter(isCall), [])
    assert.deepEqual(stage.problems.splice(0), [])
  })

  test('cannot be shown in a frame of another page, and its token cannot be read from another origin', async () => {
    const { port } = new URL(stage.platform.url)
    const other = `http://127.0.0.1:${port}`
    const attacker = await stage.openPage()
    await attacker.route(`${other}/attack`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<iframe src="${stage.at(groupsPage)}"></iframe>`,
      }),
    )
    await attacker.goto(`${other}/attack`)
    await attacker.locator('iframe').waitFor()
    const framed = attacker.frames().at(-1)
    assert.equal(await framed?.locator('details.try').count(), 0)
    const attempt = (headers: object) =>
      attacker.evaluate(`fetch('${stage.platform.url}/console/token', {
        method: 'POST', credentials: 'include', headers: ${JSON.stringify(headers)}
      }).then((response) => response.text(), () => 'refused')`)
    assert.equal(await attempt({ 'x-stemma-console': '1' }), 'refused')
    assert.equal(await attempt({}), 'refused')
    await attacker.context().close()
    stage.problems.splice(0)
  })

  test('leads a visitor to the sign-in and back to the call', async () => {
    const context = await newBrowserContext(stage.browser, { javaScriptEnabled: true })
    const visitor = await context.newPage()
    const problems: string[] = []
    watchProblems(visitor, stage.platform.url, problems)
    await visitor.goto(stage.at(groupsPage))
    const article = visitor.locator('#listgroups')
    await article.getByText('Try it', { exact: true }).click()
    const link = article.getByRole('link', { name: 'Sign in' })
    await link.waitFor()
    assert.ok(await article.getByRole('button', { name: 'Send' }).isDisabled())
    await checkShown(visitor, 'an open form of a visitor')
    await visitor.goto(stage.at('/docs/auth-v1-auth'))
    const deletion = visitor.locator('#delete')
    await deletion.getByText('Try it', { exact: true }).click()
    const target = await deletion.getByRole('link', { name: 'Sign in' }).getAttribute('href')
    assert.match(target ?? '', /%23try-delete$/, 'also if the call has a field id')
    await visitor.goto(stage.at(groupsPage))
    await article.getByText('Try it', { exact: true }).click()
    await link.click()
    await visitor.getByLabel('E-mail address').fill(ownerEmail)
    await visitor.getByLabel('Password').fill(password)
    await visitor.getByRole('button', { name: 'Sign in', exact: true }).click()
    await visitor.waitForURL(stage.at(`${groupsPage}#try-listgroups`))
    await article.getByText(`You are signed in as ${ownerEmail}.`).waitFor()
    assert.deepEqual(problems, [])
    await context.close()
  })

  test('copies the commands of a terminal session without prompts and output', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(stage.at('/docs/tour'))
    const block = page.locator('.code[data-language=console]').first()
    await block.hover()
    await block.getByRole('button', { name: 'Copy' }).click()
    await block.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = await page.evaluate('navigator.clipboard.readText()')
    assert.equal(copied, `api ${stage.platform.config.baseUrl}/auth/v1/ok`)
  })
})
