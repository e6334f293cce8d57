// Granting, revoking and explaining access in a real browser; roles, workloads, disabled actions.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { RoleSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { paths } from '@stemma/console/paths.ts'
import { roles } from '@stemma/server/resources/iam/roles/table.ts'
import { createMany } from '@stemma/server/testing/create-many.ts'
import type { Locator, Page } from 'playwright-core'
import { noChromium } from '../sign-in/chromium.ts'
import { checkPage, checkShown } from './check-page.ts'
import { addManyGroups } from './many-groups.ts'
import type { Stage } from './stage.ts'
import { openStage, ownerEmail } from './stage.ts'

describe('access in the console', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  let organization: string
  let team: string

  before(async () => {
    stage = await openStage()
    organization = stage.organization
    team = (await stage.call('POST', `/iam/v2beta1/groups/${organization}`, { name: 'platform' }))
      .uid as string
    await stage.call('POST', `/iam/v2beta1/identities/${organization}`, {
      ...{ name: 'ci', claimMatch: { issuer: 'https://issuer.example.com', subject: 'job' } },
    })
  })
  after(() => stage.close())
  const noProblems = () => assert.deepEqual(stage.problems.splice(0), [])

  test('a role is given to a workload, shown as inherited in a group below, and removed', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.access(organization)}?dialog=add`))
    await page.getByRole('combobox', { name: 'Person or workload' }).fill('ci')
    await page.getByRole('option', { name: 'ci workload' }).click()
    await page.getByLabel('Role', { exact: true }).selectOption({ label: 'viewer' })
    await page.getByText(/gets viewer in acme and everything below: \d+ new capabilities/).waitFor()
    await checkShown(page, 'the dialog to add access')
    await page.getByLabel('Ends').selectOption({ label: 'In a week' })
    await page.getByLabel('Reason').fill('migration')
    await page.getByRole('button', { name: 'Add access' }).click()
    const row = page.getByRole('row', { name: /ci workload viewer here/ })
    await row.waitFor()
    const expiryOfCi = async () => {
      const { roleBindings } = await stage.call('GET', '/iam/v2beta1/roleBindings?pageSize=100')
      return (roleBindings as { reason?: string; expireTime?: string }[]).find(({ reason }) => reason)
        ?.expireTime
    }
    const expiry = await expiryOfCi()
    assert.ok(expiry)
    await row.getByRole('button', { name: 'Actions for ci' }).click()
    await page.getByRole('menuitem', { name: 'Change expiry and reason' }).click()
    await page.getByLabel('Reason').fill('longer migration')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Access changed').waitFor()
    assert.equal(await expiryOfCi(), expiry, 'the seconds of the expiry are kept')
    await page.getByRole('combobox', { name: 'Search people and workloads' }).fill('OWNER@')
    await page.getByRole('option', { name: `${ownerEmail} person` }).click()
    await row.waitFor({ state: 'detached' })
    await page.getByRole('row', { name: `${ownerEmail} person owner here` }).waitFor()
    await page.getByRole('link', { name: 'Show everyone' }).click()
    await row.waitFor()
    assert.equal(
      await page.getByRole('combobox', { name: 'Search people and workloads' }).inputValue(),
      '',
      'the field does not show a filter that a link has removed',
    )

    await page.goto(stage.at(paths.access(team)))
    const inherited = page.getByRole('row', { name: /ci workload viewer acme/ })
    await inherited.getByRole('link', { name: 'acme' }).waitFor()
    await inherited.getByRole('button', { name: 'Actions for ci' }).click()
    const remove = page.getByRole('menuitem', { name: 'Remove' })
    assert.equal(await remove.getAttribute('title'), 'The role is bound in acme. Change it there.')

    await page.goto(stage.at(paths.access(organization)))
    await row.getByRole('button', { name: 'Actions for ci' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Remove role binding' }).click()
    await row.waitFor({ state: 'detached' })
    noProblems()
  })

  test('one dialog gives a role in a group below to several identities', async () => {
    const { page } = stage
    await stage.call('POST', `/iam/v2beta1/identities/${organization}`, {
      ...{ name: 'deployer', claimMatch: { issuer: 'https://issuer.example.com', subject: 'deploy' } },
    })
    await page.goto(stage.at(`${paths.access(organization)}?dialog=add`))
    const who = page.getByRole('combobox', { name: 'Person or workload' })
    for (const name of ['ci', 'deployer', 'owner@example.com']) {
      await who.fill(name)
      await page.getByRole('option', { name: new RegExp(`^${name} (workload|person)`) }).click()
    }
    await page.getByRole('button', { name: 'Remove owner@example.com' }).click()
    const where = page.getByRole('combobox', { name: 'In the group' })
    await where.fill('  ')
    await page.getByLabel('Role', { exact: true }).selectOption({ label: 'viewer' })
    await page.getByRole('button', { name: 'Add access' }).click()
    assert.equal(await where.evaluate((field: HTMLInputElement) => field.validity.valid), false)
    await where.fill('plat')
    await page.getByRole('option', { name: 'platform in acme' }).click()
    await page.getByLabel('Role', { exact: true }).selectOption({ label: 'viewer' })
    await page.getByText('2 identities get viewer in platform').waitFor()
    await checkShown(page, 'the dialog with several identities')
    await page.getByRole('button', { name: 'Add access' }).click()
    for (const name of ['ci', 'deployer'])
      await page.getByRole('row', { name: `${name} workload viewer here` }).waitFor()
    noProblems()
  })

  test('Enter in a field with suggestions keeps its value, unless a text was typed or a suggestion selected', async () => {
    const { page } = stage
    for (const name of ['web', 'api-web'])
      await stage.call('POST', `/iam/v2beta1/groups/${organization}`, { name })
    await page.goto(stage.at(`${paths.access(organization)}?dialog=add`))
    const who = page.getByRole('combobox', { name: 'Person or workload' })
    const where = page.getByRole('combobox', { name: 'In the group' })
    const group = (name: string, options = {}) =>
      page.getByRole('option', { name: `${name} in acme`, exact: true, ...options })
    const selectedGroup = (name: string) => group(name, { selected: true })
    const noList = () => page.getByRole('combobox', { expanded: true }).waitFor({ state: 'detached' })

    await who.focus()
    await page.getByRole('option', { name: 'ci workload' }).waitFor()
    await page.keyboard.press('Enter')
    await noList()
    assert.equal(await page.getByRole('list', { name: 'Chosen' }).count(), 0)

    await where.fill('web')
    await group('web').click()
    await who.focus()
    await where.focus()
    await selectedGroup('web').waitFor()
    await page.keyboard.press('Enter')
    await noList()
    assert.equal(await where.inputValue(), 'web')
    await page.keyboard.press('ArrowDown')
    await selectedGroup('web').waitFor()
    await page.keyboard.press('ArrowUp')
    await selectedGroup('api-web').waitFor()
    await page.keyboard.press('Enter')
    await noList()
    assert.equal(await where.inputValue(), 'api-web')

    await page.reload()
    await who.focus()
    await page.getByRole('option', { name: 'ci workload' }).waitFor()
    await page.keyboard.press('ArrowUp')
    await page.locator('[role=option][aria-selected=true]:last-child').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.locator('[role=option][aria-selected=true]:first-child').waitFor()
    noProblems()
  })

  test('a suggestion is chosen by a tap or a click, and not by a swipe or the right button', async () => {
    const page = await stage.openPage(stage.owner, { hasTouch: true })
    await page.goto(stage.at(`${paths.access(organization)}?dialog=add`))
    const who = page.getByRole('combobox', { name: 'Person or workload' })
    const suggestion = page.getByRole('option', { name: 'ci workload' })
    const chosen = page.getByRole('list', { name: 'Chosen' }).getByText('ci')
    await who.fill('ci')
    await suggestion.click({ button: 'right' })
    await swipeUp(page, suggestion)
    assert.deepEqual([await suggestion.isVisible(), await chosen.count()], [true, 0])
    await suggestion.tap()
    await chosen.waitFor()
    await who.and(page.locator(':focus')).waitFor()

    await page.getByRole('button', { name: 'Remove ci' }).click()
    await who.fill('ci')
    await suggestion.click()
    await chosen.waitFor()
    await who.and(page.locator(':focus')).waitFor()

    await page.goto(stage.at(paths.group(organization)))
    await page.getByRole('heading', { level: 1, name: 'acme' }).waitFor()
    await page.keyboard.press('Control+k')
    const action = page.getByRole('option', { name: 'Identities' })
    await action.click({ button: 'right' })
    await swipeUp(page, action)
    assert.equal(await action.isVisible(), true)
    await action.tap()
    await page.waitForURL(stage.at(paths.identities(organization)))
    await page.context().close()
    noProblems()
  })

  test('arrow keys keep the selected suggestion in the visible part of the list', async () => {
    const { page } = stage
    await addManyGroups(stage, 'fleet', 30)
    await page.goto(stage.at(`${paths.access(organization)}?dialog=add`))
    await page.getByRole('combobox', { name: 'In the group' }).fill('fleet-')
    await page.getByRole('option', { name: /^fleet-00000/, selected: true }).waitFor()
    const list = page.getByRole('listbox', { name: 'In the group' })
    await checkKeyboardScrolls(page, list)

    await page.goto(stage.at(paths.group(organization)))
    await page.getByRole('heading', { level: 1, name: 'acme' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('option', { name: 'Identities' }).waitFor()
    await checkKeyboardScrolls(page, page.getByRole('listbox', { name: 'Results' }))
    noProblems()
  })

  test('an expiry after the year 9999 is refused at its field', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.access(organization)}?dialog=add`))
    await page.getByRole('combobox', { name: 'Person or workload' }).fill('ci')
    await page.getByRole('option', { name: 'ci workload' }).click()
    await page.getByLabel('Role', { exact: true }).selectOption({ label: 'viewer' })
    await page.getByLabel('Ends').selectOption({ label: 'At a time of your choice' })
    const time = page.getByLabel('Date and time')
    await time.fill('12345-01-01T00:00')
    await page.getByRole('button', { name: 'Add access' }).click()
    assert.equal(await time.evaluate((field: HTMLInputElement) => field.validity.rangeOverflow), true)
    noProblems()
  })

  test('an answer says why somebody may do something, and has a URL', async () => {
    const { page } = stage
    await page.goto(stage.at(paths.why(team)))
    await page.getByRole('combobox', { name: 'May do' }).fill('groups.delete')
    await page.getByRole('option', { name: 'groups.delete', exact: true }).click()
    await page.getByRole('button', { name: 'Ask' }).click()
    await page.getByText('may do groups.delete here').waitFor()
    await page.getByText('gives it').waitFor()
    assert.equal(new URL(page.url()).searchParams.get('capability'), 'groups.delete')
    const where = page.getByRole('combobox', { name: 'Where' })
    await where.fill('ACM')
    await page.getByRole('option', { name: 'acme', exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Ask' }).click()
    assert.equal(await where.evaluate((field: HTMLInputElement) => field.validity.customError), true)
    await where.click()
    await page.getByRole('option', { name: 'acme', exact: true }).click()
    await page.getByRole('button', { name: 'Ask' }).click()
    await page.getByText('may do groups.delete in acme').waitFor()
    assert.equal(new URL(page.url()).searchParams.get('resource'), organization)
    await page.goto(stage.at(`${paths.why(team)}?capability=groups.delete&identity=${await ciUid()}`))
    await page.getByText('may not do groups.delete here').waitFor()
    await page.getByText('Any of these roles would be enough: owner').waitFor()
    await checkShown(page, 'the answer')
    const { uid } = await stage.call('POST', `/iam/v2beta1/identities/${organization}`, {
      ...{ name: 'roleless', claimMatch: { issuer: 'https://issuer.example.com', subject: 'none' } },
    })
    await page.goto(stage.at(`${paths.why(team)}?identity=${uid}`))
    const who = page.getByRole('combobox', { name: 'Who' })
    await page.getByText('roleless may not do groups.list here').waitFor()
    assert.equal(await who.inputValue(), 'roleless', 'a workload without a role is named')
    noProblems()
  })

  test('the command of a filtered list has the same filters', async () => {
    const { page } = stage
    const uid = await ciUid()
    await page.goto(stage.at(`${paths.access(organization)}?can=groups.list&identity=${uid}`))
    await page.getByText('Same with stemma or curl').click()
    const command = `stemma access list ${organization} --identity ${uid} --capability groups.list`
    await page.getByText(command, { exact: true }).waitFor()
    noProblems()
  })

  const ciUid = async () => {
    const { identities } = await stage.call('GET', '/iam/v2beta1/identities?name=ci')
    return (identities as { uid: string }[])[0]?.uid ?? ''
  }

  test('a role is made from a built-in one and compared with it', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.roles(organization)}?dialog=create`))
    await page.getByLabel('Name', { exact: true }).fill('reader')
    await page.getByLabel('Begin with the capabilities of').selectOption({ label: 'viewer' })
    await page.getByRole('checkbox', { name: 'groups', exact: true }).check()
    await checkShown(page, 'the form of a role')
    await page.getByRole('button', { name: 'Create role' }).click()
    await page.getByRole('link', { name: 'reader' }).click()
    await page.getByRole('heading', { level: 1, name: 'reader' }).waitFor()
    await page.getByLabel('Compare with').selectOption({ label: 'viewer' })
    await page.getByText('+ delete').first().waitFor()
    await checkShown(page, 'a role')
    noProblems()
  })

  test('a group shows its own roles even if the organization has very many', async () => {
    const { uid: large } = await stage.call('POST', '/iam/v2beta1/groups', { name: 'many roles' })
    const { uid: below } = await stage.call('POST', `/iam/v2beta1/groups/${large}`, { name: 'below' })
    const capabilities = [Capability.CAP_IAM_GROUPS_LIST]
    const now = Date.now()
    const many = Array.from({ length: 201 }, (_, at) => {
      const role = create(RoleSchema, { name: `a-${at}`, capabilities })
      return [role, { uid: `${large}/${String(at).padStart(16, '0')}`, now }] as const
    })
    await stage.platform.store.write(() => createMany(roles, many))
    await stage.call('POST', `/iam/v2beta1/roles/${below}`, {
      ...{ name: 'zookeeper', capabilities: ['CAP_IAM_GROUPS_LIST'] },
    })
    const { page } = stage
    await page.goto(stage.at(paths.roles(below as string)))
    await page.getByRole('link', { name: 'zookeeper' }).waitFor()
    await page.getByText('Only the first 200 roles').waitFor()
    noProblems()
  })

  test('a workload is set up, and its token is tested in the browser', async () => {
    const { page } = stage
    await checkPage(stage, paths.newIdentity(organization), 'New workload')
    await page.getByLabel('Name', { exact: true }).fill('deploy')
    await page.getByLabel('Repository').fill('acme/app')
    await page.getByLabel('Role in this group').selectOption({ label: 'editor' })
    await page.getByRole('button', { name: 'Create workload' }).click()
    await page.getByText('id-token: write').waitFor()
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = { iss: 'https://token.actions.githubusercontent.com', sub: 'repo:evil/app', aud: 'x' }
    await page.getByLabel('Token of the workload').fill(`${encode({ alg: 'RS256' })}.${encode(claims)}.c2ln`)
    await page.getByText('Does not match').waitFor()
    await page.getByRole('cell', { name: 'repo:evil/app' }).waitFor()
    await checkShown(page, 'the tester of tokens')
    noProblems()
  })

  test('a workload whose role could not be bound is not edited, and gets its role with the next attempt', async () => {
    const { page } = stage
    await page.goto(stage.at(paths.newIdentity(organization)))
    await page.route(
      '**/iam/v2beta1/roleBindings/**',
      (route) => route.fulfill({ status: 403, json: { code: 7, message: 'Permission denied: no access' } }),
      { times: 1 },
    )
    await page.getByLabel('Name', { exact: true }).fill('release')
    await page.getByLabel('Repository').fill('acme/release')
    await page.getByLabel('Role in this group').selectOption({ label: 'editor' })
    await page.getByRole('button', { name: 'Create workload' }).click()
    await page.getByText('The workload was created, but it has no role yet').waitFor()
    for (const label of ['Name', 'Repository'])
      assert.equal(await page.getByLabel(label, { exact: true }).isDisabled(), true, label)
    await checkShown(page, 'a workload without its role')
    await page.getByLabel('Role in this group').selectOption({ label: 'viewer' })
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'release' }).waitFor()
    await page.getByRole('cell', { name: 'viewer', exact: true }).waitFor()
    const { identities } = await stage.call('GET', '/iam/v2beta1/identities?name=release')
    assert.equal((identities as unknown[]).length, 1)
    assert.deepEqual(
      stage.problems.splice(0).filter((text) => !text.includes('status of 403')),
      [],
    )
  })

  test('a URL with an unknown platform shows the form of the first platform', async () => {
    const { page } = stage
    for (const kind of ['unknown', 'constructor']) {
      await page.goto(stage.at(`${paths.newIdentity(organization)}?kind=${kind}`))
      await page.getByLabel('Repository').waitFor()
    }
    noProblems()
  })

  test('a workload on AWS is set up with an IAM role and a role in the group', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.newIdentity(organization)}?kind=aws`))
    await page.getByLabel('Name', { exact: true }).fill('lambda')
    await page.getByLabel('Account', { exact: true }).fill('123456789012')
    await page.getByLabel('Role', { exact: true }).fill('deployer')
    await page.getByLabel('Role in this group').selectOption({ label: 'viewer' })
    await page.getByRole('button', { name: 'Create workload' }).click()
    await page.getByRole('heading', { name: 'lambda' }).waitFor()
    noProblems()
  })

  test('the page of a service principal shows no snippet, because it accepts no token', async () => {
    const { page } = stage
    const { uid } = await stage.call('POST', `/iam/v2beta1/identities/${organization}`, {
      ...{ name: 'ingester', servicePrincipal: 'SERVICE_PRINCIPAL_INGESTER' },
    })
    await page.goto(stage.at(paths.identity(organization, uid as string)))
    await page.getByText('nothing yet (service principal)').waitFor()
    assert.equal(await page.getByLabel('snippet', { exact: true }).count(), 0)
    noProblems()
  })

  test('what a person may do with an entry of a list depends on the group of the entry', async () => {
    const above = await stage.call('POST', `/iam/v2beta1/roles/${organization}`, {
      ...{ name: 'auditor', capabilities: ['CAP_IAM_GROUPS_LIST'] },
    })
    await stage.call('POST', `/iam/v2beta1/identities/${team}`, {
      ...{ name: 'runner', claimMatch: { issuer: 'https://issuer.example.com', subject: 'run' } },
    })
    const { identity: lead } = await stage.platform.addUser('lead@example.com')
    await stage.platform.bind(lead, 'viewer', organization)
    await stage.platform.bind(lead, 'owner', team)
    const page = await stage.openPage(lead)
    const reason = async (entry: string, disabled: boolean) => {
      await page.getByRole('button', { name: `Actions for ${entry}` }).click()
      const title = await page.getByRole('menuitem', { name: 'Delete', disabled }).getAttribute('title')
      await page.keyboard.press('Escape')
      return title ?? ''
    }
    // On the organization's page, the team's identity can be deleted, the organization's cannot.
    await page.goto(stage.at(paths.identities(organization)))
    assert.equal(await reason('runner', false), '')
    assert.match(await reason('ci', true), /^You need the capability identity\.delete in /)
    // On the team's page, the organization's role cannot be deleted.
    await page.goto(stage.at(paths.roles(team)))
    assert.match(await reason('auditor', true), /^You need the capability roles\.delete in its group/)
    await page.goto(stage.at(paths.role(team, above.uid as string)))
    const change = page.getByRole('button', { name: 'Change role' })
    assert.match((await change.getAttribute('title')) ?? '', /^You need the capability roles\.update/)
    await page.context().close()
    noProblems()
  })

  test('a person who may only look sees why actions are disabled', async () => {
    const viewer = await stage.platform.addUser('viewer@example.com')
    await stage.platform.bind(viewer.identity, 'viewer', organization)
    const page = await stage.openPage(viewer.identity)
    await page.goto(stage.at(paths.access(organization)))
    const add = page.getByRole('button', { name: 'Add access' })
    await add.waitFor()
    assert.equal(await add.getAttribute('aria-disabled'), 'true')
    assert.match((await add.getAttribute('title')) ?? '', /You need the capability role_bindings\.create/)

    const groups = stage.at(paths.groups(organization))
    await page.goto(groups)
    const create = page.getByRole('button', { name: 'New group' })
    await create.waitFor()
    assert.equal(await create.getAttribute('aria-disabled'), 'true')
    assert.match((await create.getAttribute('title')) ?? '', /^You need the capability groups\.create/)
    await create.click({ force: true })
    assert.equal(page.url(), groups)

    await page.goto(stage.at(paths.activity(organization)))
    await page.getByText('Not everything is shown. You need the capability audit.entries.list').waitFor()
    await checkShown(page, 'a list of which a person may see nothing')
    await page.context().close()
    noProblems()
  })

  test('a person who may see only one group gets no links to the groups above it', async () => {
    const guest = await stage.platform.addUser('guest@example.com')
    await stage.platform.bind(guest.identity, 'viewer', team)
    const page = await stage.openPage(guest.identity)
    await page.goto(stage.at('/console/'))
    await page.getByRole('link', { name: 'platform Group in which your role is viewer' }).click()
    const above = page.getByRole('navigation', { name: 'Groups above this page' })
    await above.getByText('hidden group').waitFor()
    await above.getByRole('link', { name: 'platform' }).waitFor()
    assert.equal(await above.getByRole('link').count(), 1)
    await page.context().close()
    noProblems()
  })

  test('the start page names all roles in a group, and shows the uid of a group whose name is hidden', async () => {
    const { platform } = stage
    const hidden = (await stage.call('POST', `/iam/v2beta1/groups/${organization}`, { name: 'hidden' }))
      .uid as string
    const role = await stage.call('POST', `/iam/v2beta1/roles/${hidden}`, {
      ...{ name: 'repo-lister', capabilities: ['CAP_REPO_LIST'] },
    })
    const { identity } = await platform.addUser('several@example.com')
    for (const name of ['viewer', 'editor'] as const) await platform.bind(identity, name, team)
    await stage.call('POST', `/iam/v2beta1/roleBindings/${hidden}`, {
      ...{ identityUid: identity, roleUid: role.uid as string },
    })
    const page = await stage.openPage(identity)
    await page.goto(stage.at(paths.home()))
    await page.getByRole('link', { name: 'platform Group in which your roles are editor, viewer' }).waitFor()
    await page.getByRole('link', { name: `${hidden} Group` }).waitFor()
    await page.context().close()
    noProblems()
  })

  test('all roles of an identity can be reached, however many they are', async () => {
    const { platform, page } = stage
    const group = await addManyGroups(stage, 'many', 201)
    const groupAt = (index: number) => `${group}/${String(index).padStart(16, '0')}`
    const made = await stage.call('POST', `/iam/v2beta1/identities/${organization}`, {
      ...{ name: 'busy', claimMatch: { issuer: 'https://issuer.example.com', subject: 'busy' } },
    })
    const workload = made.uid as string
    const { identity: person } = await platform.addUser('busy@example.com')
    for (let index = 0; index < 201; index++) await platform.bind(person, 'viewer', groupAt(index))
    for (let index = 0; index < 51; index++) await platform.bind(workload, 'viewer', groupAt(index))

    await page.goto(stage.at(paths.identity(organization, workload)))
    await page.getByText('51 in total').waitFor()
    await page.getByRole('button', { name: 'Next', exact: true }).click()
    await page.getByRole('link', { name: 'many-00050', exact: true }).waitFor()

    const home = await stage.openPage(person)
    await home.goto(stage.at(paths.home()))
    await home.getByRole('link', { name: 'many-00200' }).waitFor()
    await home.context().close()
    noProblems()
  })
})

/** Moves a finger upwards, starting on an element, which scrolls a list. */
async function swipeUp(page: Page, from: Locator): Promise<void> {
  const { x, y, height } = (await from.boundingBox()) ?? { x: 0, y: 0, height: 0 }
  const start = { x: x + 20, y: y + height / 2 }
  const client = await page.context().newCDPSession(page)
  await client.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [start] })
  for (const distance of [20, 40, 60])
    await client.send('Input.dispatchTouchEvent', {
      ...{ type: 'touchMove', touchPoints: [{ ...start, y: start.y - distance }] },
    })
  await client.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  await client.detach()
}

/** Selects the last suggestion and then the first, and checks that the list scrolls to each. */
async function checkKeyboardScrolls(page: Page, list: Locator): Promise<void> {
  assert.equal(await list.evaluate((element) => element.scrollHeight > element.clientHeight), true)
  for (const [key, position] of [
    ['ArrowUp', 'last-child'],
    ['ArrowDown', 'first-child'],
  ]) {
    await page.keyboard.press(key as string)
    const selected = list.locator(`[aria-selected=true]:${position}`)
    await selected.waitFor()
    const [outer, inner] = [await list.boundingBox(), await selected.boundingBox()]
    assert.ok(outer && inner)
    assert.ok(inner.y >= outer.y - 1 && inner.y + inner.height <= outer.y + outer.height + 1, position)
  }
}
