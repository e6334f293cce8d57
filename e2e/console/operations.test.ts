// Activity, events, invites and usage in a real browser.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { paths, uidOf } from '@stemma/console/paths.ts'
import { verifyOrganization } from '@stemma/server/commands/verify.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { deliveryAccess } from '@stemma/server/policy/system-access.ts'
import { resources } from '@stemma/server/resource-list.ts'
import { disableSubscription } from '@stemma/server/resources/events/subscriptions/after-delivery.ts'
import type { Page, Route } from 'playwright-core'
import { until } from '../server/stemmad.ts'
import { noChromium } from '../sign-in/chromium.ts'
import { addAccount } from '../sign-in/sign-in.ts'
import { checkShown } from './check-page.ts'
import { keyboardOf } from './keyboard.ts'
import type { Stage } from './stage.ts'
import { openStage, ownerEmail } from './stage.ts'

describe('operations in the console', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  let organization: string
  let team: string

  before(async () => {
    stage = await openStage()
    organization = stage.organization
    const made = await stage.call('POST', `/iam/v2beta1/groups/${organization}`, { name: 'platform' })
    team = made.uid as string
    await stage.call('PATCH', `/iam/v2beta1/groups/${team}`, { description: 'runs the servers' })
  })
  after(() => stage.close())
  const noProblems = () => assert.deepEqual(stage.problems.splice(0), [])

  test('the activity shows what changed, keeps its filters in the URL, and can be exported', async () => {
    const { page } = stage
    await page.goto(stage.at(paths.activity(organization)))
    await page.getByText('updated group platform').click()
    await page.getByRole('row', { name: /description runs the servers/ }).waitFor()
    await checkShown(page, 'an entry')
    await page.getByLabel('Action').selectOption('created')
    await page.waitForURL(/action=created/)
    await page.getByText('updated group platform').waitFor({ state: 'detached' })
    await page.getByLabel('Action').selectOption('')
    await page.getByText('updated group platform').waitFor()
    await page.getByRole('combobox', { name: 'Actor' }).fill('owner')
    await page.getByRole('option', { name: `${ownerEmail} person` }).click()
    await page.waitForURL(new RegExp(`actor=${stage.owner}`))
    await page.getByLabel('Time').selectOption('dates')
    await page.getByLabel('From', { exact: true }).fill('2000-01-31')
    await page.getByText('updated group platform').waitFor()
    await page.getByLabel('To', { exact: true }).fill('2000-01-31')
    await page.getByText('No entry matches these filters.').waitFor()
    await page.getByText('Same with stemma or curl').click()
    const command = page.getByLabel('stemma command', { exact: true })
    assert.match(
      (await command.textContent()) ?? '',
      new RegExp(`^stemma audit list ${organization} --actor ${stage.owner} --since 2000-.* --until 2000-`),
    )
    await page.getByRole('link', { name: 'Clear' }).click()
    await page.getByText('updated group platform').waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export JSON lines' }).click()
    const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\n')
    assert.ok(lines.some((line) => JSON.parse(line).resource?.name === 'platform'))
    noProblems()
  })

  test('an emptied field removes the filter by an actor, and keeps the focus and what is typed next', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.activity(organization)}?actor=${stage.owner}&action=created`))
    const actor = page.getByRole('combobox', { name: 'Actor' })
    assert.notEqual(await actor.inputValue(), '')
    await actor.fill('')
    await page.keyboard.type('own')
    await page.waitForURL((url) => !url.searchParams.has('actor'))
    assert.equal(new URL(page.url()).searchParams.get('action'), 'created')
    await page.getByRole('option', { name: `${ownerEmail} person`, selected: true }).waitFor()
    assert.equal(await actor.inputValue(), 'own')
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`actor=${stage.owner}`))
    assert.equal(await actor.inputValue(), ownerEmail)
    await page.getByLabel('Action').selectOption('')
    await page.getByText('updated group platform').waitFor()
    noProblems()
  })

  test('an export that is too long for the browser names the command that exports the same', async () => {
    const tooMany = (route: Route) =>
      route.fulfill({ contentType: 'application/jsonl', body: '{}\n'.repeat(100_001) })
    const page = await stage.openPage()
    await page.route(/:(?:export|osv)/, tooMany)
    const exportFrom = async (path: string, start: () => Promise<void>, command: string) => {
      await page.goto(stage.at(path))
      await start()
      await page.getByText(`Only the first 100000 were exported; ${command} has no limit`).waitFor()
    }
    const click = (name: string) => () => page.getByRole('button', { name }).click()
    const activity = `${paths.activity(team)}?action=created&outcome=failure`
    const auditExport = `stemma audit export ${team} --action created --outcome failure`
    await exportFrom(activity, click('Export JSON lines'), auditExport)
    await exportFrom(activity, click('Export ECS'), `${auditExport} --format ecs`)
    await exportFrom(
      `${paths.advisories(team)}?search=open%20ssl&status=EVENT_TYPE_FILTER_FIXED`,
      async () => {
        await page.getByRole('button', { name: 'Export these advisories' }).click()
        await page.getByRole('menuitem', { name: /^OSV/ }).click()
      },
      `stemma advisories export-osv --descendants-of ${team} --query 'open ssl' --latest-event-type fixed`,
    )
    await page.context().close()
    noProblems()
  })

  test('the activity can be filtered by every kind of resource, and by an action that the page does not know', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.activity(organization)}?action=renamed`))
    assert.equal(await page.getByLabel('Action').inputValue(), 'renamed')
    const options = page.getByLabel('Kind').locator('option')
    const kinds = await options.evaluateAll((all) => all.map((each) => each.getAttribute('value')))
    const missing = resources.map(({ kind }) => kind.table.name).filter((name) => !kinds.includes(name))
    assert.deepEqual(missing, [])
    noProblems()
  })

  test('later pages of the filter “last day” can be opened while time passes, by reload and by a shared link', async () => {
    const made = await stage.call('POST', '/iam/v2beta1/groups', { name: 'busy' })
    for (let count = 0; count < 50; count++)
      await stage.call('PATCH', `/iam/v2beta1/groups/${made.uid}`, { description: `change ${count}` })
    const first = stage.at(`${paths.activity(made.uid as string)}?since=24`)
    /** Before each response, the clock of the browser advances by a minute. */
    const open = async () => {
      const page = await stage.openPage()
      let time = Date.now()
      await page.route('**/audit/v2beta1/entries?*', async (route) => {
        time += 60_000
        await page.clock.setFixedTime(time)
        await route.continue()
      })
      return page
    }
    const page = await open()
    await page.goto(first)
    await page.getByRole('button', { name: 'Next', exact: true }).click()
    await page.getByText('created group busy').waitFor()
    await page.reload()
    await page.getByText('created group busy').waitFor()
    const reading = await open()
    await reading.goto(page.url())
    await reading.getByText('created group busy').waitFor()
    assert.equal(await reading.getByLabel('Time').inputValue(), '24')
    await reading.getByRole('button', { name: 'First page' }).click()
    await reading.getByText('created group busy').waitFor({ state: 'detached' })
    assert.equal(reading.url(), first)
    await page.getByLabel('Action').selectOption('created')
    await page.waitForURL(`${first}&action=created`)
    await page.getByText('created group busy').waitFor()
    for (const opened of [page, reading]) {
      await opened.unrouteAll({ behavior: 'ignoreErrors' }) // the page may be reading again
      await opened.context().close()
    }
    noProblems()
  })

  test('times in the URL that are beyond all dates are ignored', async () => {
    const { page } = stage
    for (const query of ['since=1e20', 'since=1&at=1e20', 'since=24&at=-1e20', 'since=1e8']) {
      await page.goto(stage.at(`${paths.activity(organization)}?${query}`))
      await page.getByText('updated group platform').waitFor()
    }
    noProblems()
  })

  test('an entry of the activity has a page of its own, which can be shared', async () => {
    const { page } = stage
    await page.goto(stage.at(paths.group(organization)))
    await page.getByRole('link', { name: /updated group platform/ }).click()
    await page.getByRole('heading', { level: 1, name: /updated group platform/ }).waitFor()
    await page.reload()
    await page.getByRole('row', { name: /description runs the servers/ }).waitFor()
    await checkShown(page, 'an entry of the activity')
    const [assumer, provider] = ['0123456789abcdef'.repeat(2), `${organization}/fedcba9876543210`]
    await page.route('**/audit/v2beta1/entries/**', async (route) => {
      const response = await route.fetch()
      const entry = await response.json()
      const actor = { ...entry.actor, person: assumer, identityProvider: provider }
      await route.fulfill({ response, json: { ...entry, actor } })
    })
    await page.reload()
    await page.getByTitle(assumer, { exact: true }).waitFor()
    await page.getByTitle(provider, { exact: true }).waitFor()
    await page.unroute('**/audit/v2beta1/entries/**')
    await page.getByRole('link', { name: 'All entries about this resource' }).click()
    await page.getByText('created group platform').waitFor()
    noProblems()
  })

  test('the overview shows expiring invites, and shows next steps only to people who may do them', async () => {
    const { page } = stage
    const invited = { roleUid: builtInRole('viewer').uid, email: 'late@example.com', ttl: '3600s' }
    const invite = await stage.call('POST', `/iam/v2beta1/groupInvites/${organization}`, invited)
    await page.goto(stage.at(paths.group(organization)))
    await page.getByRole('link', { name: 'The invite for late@example.com as viewer expires' }).waitFor()
    await page.getByRole('link', { name: 'Push an image' }).waitFor()
    await page.getByText('Divide it into groups (done)').waitFor()
    await checkShown(page, 'the overview')
    await stage.call('DELETE', `/iam/v2beta1/groupInvites/${invite.uid}`)

    const viewer = await stage.platform.addUser('reader@example.com')
    await stage.platform.bind(viewer.identity, 'viewer', organization)
    const viewing = await stage.openPage(viewer.identity)
    const account = viewing.waitForResponse(/\/iam\/v2beta1\/account$/)
    await viewing.goto(stage.at(paths.group(organization)))
    await viewing.getByText('You need the capability audit.entries.list in this group.').waitFor()
    await (await account).finished()
    await nextFrame(viewing)
    assert.equal(await viewing.getByText('Next steps in').count(), 0)
    await viewing.context().close()

    const capabilities = [
      ...['CAP_IAM_GROUPS_LIST', 'CAP_IAM_ROLES_LIST', 'CAP_REPO_CREATE'],
      ...['CAP_IAM_GROUP_INVITES_LIST', 'CAP_IAM_GROUP_INVITES_CREATE'],
    ]
    const { uid: role } = await stage.call('POST', `/iam/v2beta1/roles/${organization}`, {
      ...{ name: 'organizer', capabilities },
    })
    const organizer = await stage.platform.addUser('organizer@example.com')
    await stage.platform.bind(organizer.identity, 'viewer', organization)
    await stage.call('POST', `/iam/v2beta1/roleBindings/${organization}`, {
      ...{ identityUid: organizer.identity, roleUid: role as string },
    })
    const organizing = await stage.openPage(organizer.identity)
    await organizing.goto(stage.at(paths.group(organization)))
    await organizing.getByText('Next steps in').waitFor()
    assert.equal(await organizing.getByText('Invite a colleague').count(), 0, 'needs role_bindings.create')
    await organizing.goto(stage.at(paths.invites(organization)))
    const invitation = organizing.getByText('Invite a person', { exact: true })
    await invitation.and(organizing.locator('[aria-disabled=true]')).waitFor()
    await organizing.context().close()
    noProblems()
  })

  test('a subscription is created, tested, paused and deleted', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.events(organization)}?dialog=create`))
    await page.getByLabel('Sink').fill('https://receiver.invalid/events')
    await checkShown(page, 'the form of a subscription')
    await page.getByRole('button', { name: 'Create subscription' }).click()
    await page.getByText('It is not shown again').waitFor()
    assert.match(await page.getByLabel('secret', { exact: true }).innerText(), /^whsec_/)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'https://receiver.invalid/events' }).click()
    await page.getByRole('heading', { level: 1, name: 'Subscription' }).waitFor()
    const subscription = uidOf(new URL(page.url()).pathname.split('/').at(-1) ?? '')
    await until(async () => {
      const list = await stage.call('GET', `/events/v2beta1/deliveries?subscription=${subscription}`)
      return (list.deliveries as { attempts?: unknown[] }[]).some(({ attempts = [] }) => attempts.length > 0)
    })
    await page.reload()
    await page.getByRole('link', { name: 'api.events.subscription.created.v1' }).click()
    await page.getByLabel('event', { exact: true }).getByText(subscription).first().waitFor()
    await page.getByText('Headers', { exact: true }).click()
    const headers = await page.getByLabel('headers', { exact: true }).innerText()
    assert.match(headers, /^authorization: Bearer …$/m)
    assert.match(headers, new RegExp(`^ce-subject: ${subscription}$`, 'm'))
    await checkShown(page, 'a delivery')
    noProblems()
    await page.route('**/events:tail*', (route) =>
      route.fulfill({ status: 503, json: { code: 14, message: 'Unavailable: starting' } }),
    )
    await page.reload()
    await page.getByRole('alert').getByText('The server does not answer').waitFor()
    await page.getByRole('heading', { name: 'Answers' }).waitFor()
    await page.unroute('**/events:tail*')
    stage.problems.splice(0)
    await page.reload()
    await page.getByLabel('event', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByRole('link', { name: /test/ }).click()
    await page.getByText('A test event: it says only that it is a test.').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await stage.platform.store.write(() =>
      disableSubscription(deliveryAccess, subscription, 'the sink is gone', Date.now()),
    )
    await page.reload()
    await page.getByText('disabled', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Change', exact: true }).click()
    await page.getByRole('dialog').getByLabel('Description').fill('for the chat')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('for the chat', { exact: true }).waitFor()
    await page.getByText('disabled', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Change', exact: true }).click()
    await page.getByRole('dialog').getByLabel('State').selectOption({ label: 'Paused' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('paused', { exact: true }).waitFor()
    await page.goto(stage.at(paths.events(organization)))
    await page.getByRole('button', { name: /^Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Delete subscription?', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Delete subscription' }).click()
    await page.getByRole('heading', { name: 'No subscriptions' }).waitFor()
    noProblems()
  })

  test('a replay since a time after the year 9999 is refused at its field', async () => {
    const { page } = stage
    const { uid } = await stage.call('POST', `/events/v2beta1/subscriptions/${organization}`, {
      sink: 'https://receiver.invalid/events',
    })
    await page.goto(stage.at(`${paths.subscription(organization, uid as string)}?dialog=replay`))
    const since = page.getByLabel('Since')
    await since.fill('12345-01-01T00:00')
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    assert.equal(await since.evaluate((field: HTMLInputElement) => field.validity.rangeOverflow), true)
    noProblems()
  })

  test('an Enter key that is held down does not send the form of a dialog', async () => {
    const { page } = stage
    const { uid } = await stage.call('POST', `/events/v2beta1/subscriptions/${organization}`, {
      sink: 'https://receiver.invalid/events',
    })
    const path = paths.subscription(organization, uid as string)
    const rotations: unknown[] = []
    page.on('request', (request) => {
      if (request.url().endsWith(':rotateSecret')) rotations.push(request.postDataJSON().overlap)
    })
    const dialog = page.getByRole('dialog')
    const { focused } = keyboardOf(page)

    await page.keyboard.down('Enter')
    await page.goto(stage.at(`${path}?dialog=rotate`))
    await dialog.waitFor()
    await focused(dialog.getByRole('button', { name: 'Close' }))
    await page.keyboard.down('Enter')
    await dialog.waitFor({ state: 'detached' })
    await page.keyboard.up('Enter')
    assert.deepEqual(rotations, [])

    await page.getByRole('link', { name: 'Rotate secret' }).focus()
    await page.keyboard.down('Enter')
    await focused(dialog.getByRole('combobox'))
    const send = dialog.getByRole('button', { name: 'Rotate secret' })
    await send.focus()
    await page.keyboard.down('Enter')
    await page.keyboard.up('Enter')
    await dialog.getByRole('combobox').selectOption('3600s')
    await send.press('Enter')
    await page.getByText('It is not shown again').waitFor()
    assert.deepEqual(rotations, ['3600s'])
    noProblems()
  })

  test('live events appear as they happen, survive a pause and a broken connection, and are filtered', async () => {
    const { page } = stage
    const create = (name: string) => stage.call('POST', `/iam/v2beta1/groups/${team}`, { name })
    const events = page.getByRole('listitem').filter({ hasText: 'api.iam.group.created' })
    let isBroken = false
    await page.route('**/events:tail*', (route) => (isBroken ? route.abort() : route.continue()))
    await page.goto(stage.at(paths.liveEvents(organization)))
    await page.getByText('connected', { exact: true }).waitFor()
    await create('live one')
    await events.first().waitFor()
    await events.first().click()
    await page.getByText('"live one"').waitFor()
    await checkShown(page, 'live events')
    await page.getByRole('link', { name: 'Pause' }).click()
    await page.getByText('paused', { exact: true }).waitFor()
    await create('live two')
    isBroken = true
    await page.getByRole('link', { name: 'Continue' }).click()
    await page.getByText('connecting again').waitFor()
    isBroken = false
    await events.nth(1).waitFor()
    await page.unroute('**/events:tail*')
    assert.equal(await events.count(), 2, 'no event is shown twice')
    await page.getByRole('link', { name: 'Pause' }).click()
    await page.getByText('paused', { exact: true }).waitFor()
    await create('live three')
    await page.reload()
    await page.getByRole('link', { name: 'Continue' }).click()
    await events.first().waitFor()
    await events.first().click()
    await page.getByText('"live three"').waitFor()
    assert.equal(await events.count(), 1, 'only the events since the pause are shown')
    await page.getByLabel('Type or subject contains').fill('repo')
    await page.getByText('No event matches').waitFor()
    stage.problems.splice(0)
  })

  test('live events say that they are disconnected if the server refuses', async () => {
    const { page } = stage
    await page.route('**/events:tail*', (route) =>
      route.fulfill({ status: 403, json: { code: 7, message: 'Permission denied: no access' } }),
    )
    await page.goto(stage.at(paths.liveEvents(organization)))
    await page.getByText('disconnected', { exact: true }).waitFor()
    await page.unroute('**/events:tail*')
    await page.getByRole('link', { name: 'Pause' }).click()
    await page.getByRole('link', { name: 'Continue' }).click()
    await page.getByText('connected', { exact: true }).waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    stage.problems.splice(0)
  })

  test('an invite is created as a link, changed and revoked', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.access(organization)}?dialog=add&who=invite`))
    await page.getByLabel('E-mail address').fill('guest@example.com')
    await page.getByLabel('Role', { exact: true }).selectOption({ label: 'viewer' })
    await page.getByRole('button', { name: 'Create invite' }).click()
    assert.match(
      await page.getByLabel('link of the invite', { exact: true }).innerText(),
      /\/invite\/\S{20,}/,
    )
    await page.goto(stage.at(paths.invites(organization)))
    await page.getByRole('button', { name: 'Actions for guest@example.com' }).click()
    await page.getByRole('menuitem', { name: 'Change role and expiry' }).click()
    await page.getByRole('dialog').getByLabel('Role').selectOption({ label: 'editor' })
    await page.getByLabel('Valid for').selectOption({ label: '30 days' })
    await checkShown(page, 'the dialog that changes an invite')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /guest@example.com editor (next month|in \d+ days)/ }).waitFor()
    await page.getByRole('button', { name: 'Actions for guest@example.com' }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await page.getByRole('heading', { name: 'Revoke invite?', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Revoke invite' }).click()
    await page.getByRole('heading', { name: 'No open invites' }).waitFor()
    noProblems()
  })

  test('a person whose address is in the domain of an organization asks for access, and an owner declines it once and then grants it', async () => {
    const { page, platform } = stage
    const domain = 'acme.example.com'
    const made = await stage.call('POST', '/iam/v2beta1/groups', { name: domain })
    const domainOrganization = made.uid as string
    await verifyOrganization(platform.store, domainOrganization, { isVerified: true, now: Date.now() })
    const person = await platform.addUser(`newcomer@${domain}`)
    const asking = await stage.openPage(person.identity)
    await asking.goto(stage.at(paths.group(domainOrganization)))
    await asking.getByRole('heading', { name: 'Access denied' }).waitFor()
    await asking.getByRole('button', { name: 'Request access' }).waitFor()
    const ask = async () => {
      await asking.goto(stage.at(paths.home()))
      await asking.getByRole('button', { name: 'Request access' }).click()
      await asking.getByText('The owners have your request.').waitFor()
    }
    await ask()
    await checkShown(asking, 'the request for access')
    await page.goto(stage.at(paths.invites(domainOrganization)))
    await page.getByRole('button', { name: `Actions for newcomer@${domain}` }).click()
    await page.getByRole('menuitem', { name: 'Decline' }).click()
    await page.getByRole('dialog', { name: 'Decline the request' }).getByText(`newcomer@${domain}`).waitFor()
    await page.getByRole('button', { name: 'Decline request' }).click()
    await page.getByRole('heading', { name: 'No requests' }).waitFor()
    await ask()
    await page.goto(stage.at(paths.group(domainOrganization)))
    await page.getByRole('link', { name: `newcomer@${domain} asks for access` }).click()
    await page
      .getByRole('dialog')
      .getByText(new RegExp(`^newcomer@${domain} asked just now`))
      .waitFor()
    await page.getByRole('dialog').getByLabel('Role').selectOption({ label: 'viewer' })
    await page.getByRole('button', { name: 'Grant access' }).click()
    await page.getByRole('heading', { name: 'No requests' }).waitFor()
    await asking.goto(stage.at(paths.group(domainOrganization)))
    await asking.getByRole('heading', { level: 1, name: domain }).waitFor()
    // The button is not shown to a member of the organization of their domain, not even where access is denied.
    const lookup = asking.waitForResponse(/:lookupGroup/)
    await asking.goto(stage.at(paths.group(organization)))
    await asking.getByRole('heading', { name: 'Access denied' }).waitFor()
    await (await lookup).finished()
    await nextFrame(asking)
    assert.equal(await asking.getByRole('button', { name: 'Request access' }).count(), 0)
    await asking.context().close()
    stage.problems.splice(0)
  })

  test('a limit is set and shown', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.usage(team)}?dialog=limit&about=repos`))
    await page.getByLabel('At most').fill('20')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /^repos 0.*20 this group/ }).waitFor()
    await checkShown(page, 'usage')
    noProblems()
  })

  test('the dialog of a limit shows the limit of the group, even if the limit of a group above is reached first', async () => {
    const { page } = stage
    const makeGroup = async (parent: string, name: string) =>
      (await stage.call('POST', `/iam/v2beta1/groups/${parent}`, { name })).uid as string
    const upper = await makeGroup(organization, 'upper')
    const lower = await makeGroup(upper, 'lower')
    const setLimit = (group: string, groups: number) =>
      stage.call('POST', `/iam/v2beta1/groups/${group}:setLimits`, { resourceLimits: { groups } })
    await setLimit(upper, 4)
    await setLimit(lower, 3)
    for (const name of ['a', 'b']) await makeGroup(upper, name)
    await page.goto(stage.at(paths.usage(lower)))
    const groups = page.getByRole('row', { name: /^groups .*4 a group above/ })
    await groups.waitFor()
    // Of the limit of the group above, 3 are used: a, b and the group itself.
    const meter = groups.getByRole('meter')
    assert.deepEqual([await meter.getAttribute('value'), await meter.getAttribute('max')], ['3', '4'])
    await page.goto(stage.at(paths.group(lower)))
    await page.getByRole('link', { name: /^0\s*groups\s*at most 1 more$/i }).waitFor()
    await page.goto(stage.at(paths.group(upper)))
    await page.getByRole('link', { name: /^3\s*groups\s*of at most 4$/i }).waitFor()
    await page.goto(stage.at(`${paths.usage(lower)}?dialog=limit&about=groups`))
    assert.equal(await page.getByLabel('At most').inputValue(), '3')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Limit changed').waitFor()
    const { resourceLimits } = await stage.call('GET', `/iam/v2beta1/groups/${lower}`)
    assert.deepEqual(resourceLimits, { groups: 3 })
    noProblems()
  })

  test('a limit can be set only by those whom the server allows', async () => {
    const person = await addAccount(stage.platform, 'team@example.com')
    await stage.platform.bind(person, 'owner', team)
    const { uid } = await stage.call('POST', `/iam/v2beta1/groups/${team}`, { name: 'below' })
    const page = await stage.openPage(person)
    const reasonIn = async (opened: Page, group: string) => {
      await opened.goto(stage.at(paths.usage(group)))
      await opened.getByRole('button', { name: 'Actions for repos' }).click()
      return opened.getByRole('menuitem', { name: 'Set a limit' }).getAttribute('title')
    }
    assert.match((await reasonIn(page, team)) ?? '', /need the capability groups\.update in the group above/)
    assert.equal(await reasonIn(page, String(uid)), null)
    assert.match((await reasonIn(stage.page, organization)) ?? '', /Only operators of the server/)
    await page.context().close()
    noProblems()
  })
})

/** Waits until the page has rendered the responses that it has. */
const nextFrame = (page: Page) =>
  page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))))
