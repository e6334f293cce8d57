// Activity, events, invites and usage in a real browser.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { noChromium } from '../sign-in/chromium.ts'
import { checkShown } from './check-page.ts'
import type { Stage } from './stage.ts'
import { openStage } from './stage.ts'

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

  test('the activity shows what changed, is filtered by the URL, and can be saved', async () => {
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
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export JSON lines' }).click()
    const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\n')
    assert.ok(lines.some((line) => JSON.parse(line).resource?.name === 'platform'))
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
    await page.getByRole('link', { name: 'All about this resource' }).click()
    await page.getByText('created group platform').waitFor()
    noProblems()
  })

  test('the overview shows what waits, and the next steps until they are done', async () => {
    const { page } = stage
    const invited = { roleUid: builtInRole('viewer').uid, email: 'late@example.com', ttl: '3600s' }
    const invite = await stage.call('POST', `/iam/v2beta1/groupInvites/${organization}`, invited)
    await page.goto(stage.at(paths.group(organization)))
    await page.getByRole('link', { name: 'The invite of late@example.com as viewer expires' }).waitFor()
    await page.getByRole('link', { name: 'Push an image' }).waitFor()
    await page.getByText('Divide it into groups (done)').waitFor()
    await checkShown(page, 'the overview')
    await stage.call('DELETE', `/iam/v2beta1/groupInvites/${invite.uid}`)

    const viewer = await stage.platform.addUser('reader@example.com')
    await stage.platform.bind(viewer.identity, 'viewer', organization)
    const viewing = await stage.openPage(viewer.identity)
    await viewing.goto(stage.at(paths.group(organization)))
    await viewing.getByText('You need the capability audit.entries.list in this group.').waitFor()
    assert.equal(await viewing.getByText('Next steps in').count(), 0)
    await viewing.context().close()
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
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByRole('link', { name: /test/ }).click()
    await checkShown(page, 'a delivery')
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('link', { name: 'Change', exact: true }).click()
    await page.getByRole('dialog').getByLabel('State').selectOption({ label: 'Paused' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('paused', { exact: true }).waitFor()
    await page.goto(stage.at(paths.events(organization)))
    await page.getByRole('button', { name: /^Actions for/ }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete subscription' }).click()
    await page.getByRole('heading', { name: 'No subscriptions' }).waitFor()
    noProblems()
  })

  test('an invite is created as a link and revoked', async () => {
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
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Delete invite' }).click()
    await page.getByRole('heading', { name: 'No open invites' }).waitFor()
    noProblems()
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
})
