// Failing and slow responses of the server, as the browser sees them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import type { Page, Route } from 'playwright-core'
import { noChromium } from '../sign-in/chromium.ts'
import { checkShown } from './check-page.ts'
import { addManyGroups } from './many-groups.ts'
import type { Stage } from './stage.ts'
import { openStage } from './stage.ts'

// Routes are set before the page is loaded: if they are set later, the next requests may bypass them.
describe('the console', { skip: noChromium ?? false, timeout: 600_000 }, () => {
  let stage: Stage
  let page: Page
  before(async () => {
    stage = await openStage()
    page = stage.page
  })
  after(() => stage.close())

  const listIdentities = '**/iam/v2beta1/identities?*'
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true })
  const openIdentities = () => page.goto(stage.at(paths.identities(stage.organization)))

  type Failure = { status: number; message: string; code: number; retryDelay?: string }

  const fail = (route: Route, { status, message, code, retryDelay }: Failure) =>
    route.fulfill({
      status,
      json: {
        code,
        message,
        details: retryDelay ? [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }] : [],
      },
    })

  test('shows that the server does not answer, and recovers by a click', async () => {
    let isBroken = true
    await page.route(listIdentities, (route) =>
      isBroken ? fail(route, { status: 503, code: 14, message: 'Unavailable: starting' }) : route.continue(),
    )
    await openIdentities()
    await heading('The server does not answer').waitFor()
    await checkShown(page, 'an error')
    isBroken = false
    await page.getByRole('button', { name: 'Try again' }).click()
    await heading('Identities').waitFor()
    await page.unroute(listIdentities)
  })

  test('keeps the page and what was typed if an idle tab cannot get a token', async () => {
    const idlePage = await stage.openPage()
    let isBroken = false
    await idlePage.route('**/console/token', (route) =>
      isBroken ? route.fulfill({ status: 503, body: '' }) : route.continue(),
    )
    await idlePage.clock.install()
    await idlePage.goto(stage.at(`${paths.access(stage.organization)}?dialog=add&who=invite`))
    await idlePage.getByLabel('E-mail address').fill('guest@example.com')
    await idlePage.getByLabel('Role', { exact: true }).selectOption({ label: 'viewer' })
    isBroken = true
    const refused = idlePage.waitForResponse('**/console/token')
    await idlePage.clock.fastForward('01:00:00')
    await idlePage.evaluate(() => void dispatchEvent(new Event('visibilitychange')))
    await refused
    await idlePage.getByRole('button', { name: 'Create invite' }).click()
    await idlePage.getByRole('alert').getByText('The server does not answer').waitFor()
    isBroken = false
    await idlePage.getByRole('button', { name: 'Create invite' }).click()
    await idlePage.getByText('Invite created').waitFor()
    await idlePage.context().close()
  })

  test('shows that the first token cannot be requested, and recovers by a click', async () => {
    const failures = {
      refused: (route: Route) => route.fulfill({ status: 502, body: '' }),
      unreachable: (route: Route) => route.abort('connectionrefused'),
    }
    for (const failure of Object.values(failures)) {
      await page.route('**/console/token', failure)
      await openIdentities()
      await heading('The server does not answer').waitFor()
      if (failure === failures.refused) await checkShown(page, 'an error without a session')
      await page.unroute('**/console/token')
      await page.getByRole('button', { name: 'Try again' }).click()
      await heading('Identities').waitFor()
    }
  })

  test('retries by itself after the delay of a rate limit, if it is short', async () => {
    let refusals = 1
    await page.route(listIdentities, (route) =>
      refusals-- > 0
        ? fail(route, {
            status: 429,
            code: 8,
            message: 'Resource exhausted: too many calls',
            retryDelay: '0.1s',
          })
        : route.continue(),
    )
    await openIdentities()
    await heading('Identities').waitFor()
    assert.ok(refusals < 0)
    await page.unroute(listIdentities)
  })

  test('says when to try again if the delay of a rate limit is long', async () => {
    await page.route(listIdentities, (route) =>
      fail(route, { status: 429, code: 8, message: 'Resource exhausted: too many calls', retryDelay: '90s' }),
    )
    await openIdentities()
    await heading('Too many requests').waitFor()
    await page.getByText('Too many calls; try again in 90 s.').waitFor()
    await page.unroute(listIdentities)
  })

  test('keeps the form if a change was refused, and says why', async () => {
    const groups = '**/iam/v2beta1/groups/*'
    await page.route(groups, (route) =>
      route.request().method() === 'POST'
        ? fail(route, { status: 412, code: 10, message: 'Aborted: the group has changed; read it again' })
        : route.continue(),
    )
    await page.goto(stage.at(`${paths.groups(stage.organization)}?dialog=create`))
    await page.getByLabel('Name', { exact: true }).fill('platform')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('Changed by somebody else').waitFor()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'platform')
    await page.unroute(groups)
    await page.getByRole('button', { name: 'Create group' }).click()
    await page.getByText('Group created').waitFor()
  })

  test('explains an invalid name at its field, and keeps what was typed', async () => {
    await page.goto(stage.at(`${paths.groups(stage.organization)}?dialog=create`))
    await page.getByLabel('Name', { exact: true }).fill('No Capitals')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'No Capitals')
    assert.equal(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid'), 'true')
  })

  test('explains the fault of every kind of field at that field', async () => {
    const faultOf = async (label: string) => {
      const field = page.getByLabel(label, { exact: true })
      await page.getByRole('alert').waitFor()
      assert.equal(await field.getAttribute('aria-invalid'), 'true', label)
      return field.evaluate(
        (element: HTMLInputElement) =>
          (element.getAttribute('aria-describedby') ?? '')
            .split(' ')
            .map((id) => document.getElementById(id))
            .find((described) => described?.className === 'field-problem')?.textContent,
      )
    }
    await page.goto(stage.at(`${paths.account()}?dialog=password`))
    await page.getByLabel('Current password').fill('not the password')
    await page.getByLabel('New password').fill('correct horse battery staple')
    await page.getByRole('button', { name: 'Change password' }).last().click()
    assert.equal(await faultOf('Current password'), 'Is wrong.')

    const identity = await stage.call('POST', `/iam/v2beta1/identities/${stage.organization}`, {
      ...{ name: 'ci', claimMatch: { issuer: 'https://issuer.example.com', subject: 'job' } },
    })
    await page.goto(stage.at(`${paths.identity(stage.organization, identity.uid as string)}?dialog=edit`))
    await page.getByLabel('Issuer', { exact: true }).fill('')
    await page.getByLabel('Issuer pattern').fill('https://.+')
    await page.getByRole('button', { name: 'Save' }).click()
    assert.match((await faultOf('Issuer pattern')) ?? '', /^Must name the domain of its hosts in full/)

    const repo = await stage.call('POST', `/registry/v2beta1/repos/${stage.organization}`, { name: 'app' })
    await page.goto(stage.at(`${paths.repo(stage.organization, repo.uid as string)}?dialog=edit`))
    const label = 'Tags that cannot be moved or deleted'
    await page.getByLabel(label).fill('v1\nnot/a/tag')
    await page.getByRole('button', { name: 'Save' }).click()
    assert.match((await faultOf(label)) ?? '', /^Must /)
  })

  test('says that a limit of a group is reached, not that there were too many requests', async () => {
    const { uid } = await stage.call('POST', `/iam/v2beta1/groups/${stage.organization}`, { name: 'full' })
    await stage.call('POST', `/iam/v2beta1/groups/${uid}:setLimits`, { resourceLimits: { groups: 0 } })
    await page.goto(stage.at(`${paths.groups(uid as string)}?dialog=create`))
    await page.getByLabel('Name', { exact: true }).fill('one more')
    await page.keyboard.press('Enter')
    const alert = page.getByRole('alert')
    await alert.getByText('A limit is reached').waitFor()
    await alert.getByText('may contain at most 0 groups').waitFor()
  })

  test('offers to try again only if that may help', async () => {
    const failures = [
      { status: 404, code: 5, message: 'Not found: no such list', title: 'Not found', mayHelp: false },
      { status: 403, code: 7, message: 'Permission denied: no', title: 'Access denied', mayHelp: false },
      { status: 500, code: 13, message: 'Internal', title: 'This did not work', mayHelp: true },
    ]
    for (const { title, mayHelp, ...failure } of failures) {
      await page.route(listIdentities, (route) => fail(route, failure))
      await openIdentities()
      await heading(title).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), mayHelp ? 1 : 0, title)
      await page.unroute(listIdentities)
    }
  })

  test('shows the page of another group after the page of a group has failed', async () => {
    const { uid } = await stage.call('POST', `/iam/v2beta1/groups/${stage.organization}`, { name: 'broken' })
    const usage = `**/iam/v2beta1/groups/${uid}:usage`
    await page.route(usage, (route) => route.fulfill({ json: { kinds: 'not a list' } }))
    await page.goto(stage.at(paths.group(uid as string)))
    await heading('Something went wrong').waitFor()
    const above = page.getByRole('navigation', { name: 'Groups above this page' })
    await above.getByRole('link', { name: 'acme' }).click()
    await heading('acme').waitFor()
    await page.goBack()
    await heading('Something went wrong').waitFor()
    await page.unroute(usage)
  })

  test('says that the groups below a group cannot be loaded, and loads them by a click', async () => {
    const crowd = await addManyGroups(stage, 'crowd', 201)
    const listChildren = /\/iam\/v2beta1\/groups\?.*children/i
    const failures = {
      internal: { status: 500, code: 13, message: 'Internal' },
      denied: { status: 403, code: 7, message: 'Permission denied: no' },
    }
    let failure: Failure | undefined = failures.denied
    await page.route(listChildren, (route) => (failure ? fail(route, failure) : route.continue()))
    const item = (name: string) => page.getByRole('treeitem', { name, exact: true })
    const alert = page.getByRole('tree').getByRole('alert')
    const button = (name: string) => page.getByRole('button', { name })
    const openGroups = () => page.goto(stage.at(paths.groups(crowd)))
    await openGroups()
    await alert.getByText('Access denied').waitFor()
    assert.equal(await button('Try again').count(), 0)
    assert.equal(await page.getByText('Nothing below').count(), 0)

    failure = failures.internal
    await openGroups()
    await alert.getByText('This did not work').waitFor()
    assert.equal(await page.getByText('Nothing below').count(), 0)
    await checkShown(page, 'a tree that cannot be loaded')
    failure = undefined
    await button('Try again').press('Enter')
    await item('crowd-00199').waitFor()
    await alert.waitFor({ state: 'detached' })
    await item('crowd').and(page.locator(':focus')).waitFor()

    failure = failures.internal
    await button('Show more').click()
    await alert.getByText('This did not work').waitFor()
    failure = undefined
    await button('Show more').click()
    await item('crowd-00200').waitFor()
    await alert.waitFor({ state: 'detached' })
    await page.unroute(listChildren)
  })

  test('keeps the previous page while a slow one loads, and marks it as busy', async () => {
    let answer = () => {}
    const released = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route(listIdentities, async (route) => {
      await released
      await route.continue()
    })
    await page.goto(stage.at(paths.group(stage.organization)))
    await heading('acme').waitFor()
    await page.getByRole('link', { name: 'Identities', exact: true }).first().click()
    await page.locator('main[aria-busy=true]').waitFor()
    await heading('acme').waitFor()
    answer()
    await heading('Identities').waitFor()
    await page.locator('main[aria-busy=false]').waitFor()
    await page.unroute(listIdentities)
  })

  test('reloads the page if the server no longer has a script, as after each upgrade', async () => {
    let refusals = 0
    await page.route('**/console/assets/identities-*.js', (route) =>
      refusals-- > 0 ? route.fulfill({ status: 404, body: '' }) : route.continue(),
    )
    for (const upgrade of ['first', 'second']) {
      refusals = 1
      await page.goto(stage.at(paths.group(stage.organization)))
      await heading('acme').waitFor()
      assert.equal(refusals, 1, upgrade)
      await page.getByRole('link', { name: 'Identities', exact: true }).first().click()
      await heading('Identities').waitFor()
      assert.equal(page.url(), stage.at(paths.identities(stage.organization)))
      assert.ok(refusals < 1, upgrade)
    }
  })
})
