// Every page of the console in a real browser: accessible, at both sizes, in light and dark, without any problem.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import { noChromium } from '../sign-in/chromium.ts'
import { addAccount } from '../sign-in/sign-in.ts'
import { checkPage, checkShown } from './check-page.ts'
import type { Stage } from './stage.ts'
import { makeOperator, openStage, ownerEmail } from './stage.ts'

describe('every page', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  let organization: string
  let identity: string
  let provider: string
  let bystander: string

  before(async () => {
    stage = await openStage()
    await makeOperator(stage)
    organization = stage.organization
    const team = await stage.call('POST', `/iam/v2beta1/groups/${organization}`, {
      ...{ name: 'platform', description: 'runs the servers' },
    })
    const created = await stage.call('POST', `/iam/v2beta1/identities/${team.uid}`, {
      ...{ name: 'ci', claimMatch: { issuer: 'https://issuer.example.com', subject: 'job' } },
    })
    identity = created.uid as string
    const { roles } = await stage.call('GET', '/iam/v2beta1/roles?name=viewer')
    const viewer = (roles as { uid: string }[])[0]?.uid ?? ''
    const made = await stage.call('POST', `/iam/v2beta1/identityProviders/${organization}`, {
      ...{ name: 'sso', defaultRole: viewer },
      oidc: { issuer: 'https://sso.example.com', clientId: 'stemma', pkceEnabled: true },
    })
    provider = made.uid as string
    await stage.call('POST', `/iam/v2beta1/accountAssociations/${organization}`, {
      ...{ name: 'cloud', amazon: { account: '123456789012' } },
    })
    await stage.call('POST', `/iam/v2beta1/externalGroupRoleMappings/${provider}`, {
      ...{ externalGroupId: 'developers', roleUid: viewer, scope: team.uid as string },
    })
    bystander = await addAccount(stage.platform, 'bystander@example.com')
  })
  after(() => stage.close())

  /** The path and the first heading of each page. Paths are made late, because they contain uids. */
  const pages: Record<string, () => [path: string, heading: string]> = {
    home: () => [paths.home(), 'Organizations'],
    overview: () => [paths.group(organization), 'acme'],
    groups: () => [paths.groups(organization), 'Groups'],
    'found groups': () => [`${paths.groups(organization)}?name=plat`, 'Groups'],
    'new group': () => [`${paths.groups(organization)}?dialog=create`, 'Groups'],
    identities: () => [paths.identities(organization), 'Identities'],
    identity: () => [paths.identity(organization, identity), 'ci'],
    access: () => [paths.access(organization), 'Access'],
    roles: () => [paths.roles(organization), 'Roles'],
    why: () => [paths.why(organization), 'Why'],
    invites: () => [paths.invites(organization), 'Invites and requests'],
    'identity providers': () => [paths.identityProviders(organization), 'Identity providers'],
    'new identity provider': () => [
      `${paths.identityProviders(organization)}?dialog=create&preset=entra`,
      'Identity providers',
    ],
    accounts: () => [paths.accountAssociations(organization), 'Accounts'],
    'new accounts': () => [`${paths.accountAssociations(organization)}?dialog=create`, 'Accounts'],
    settings: () => [paths.settings(organization), 'Settings'],
    'settings, deleting': () => [`${paths.settings(organization)}?dialog=delete`, 'Settings'],
    'identity provider': () => [paths.identityProvider(organization, provider), 'sso'],
    activity: () => [paths.activity(organization), 'Activity'],
    events: () => [paths.events(organization), 'Events'],
    'live events': () => [paths.liveEvents(organization), 'Live events'],
    usage: () => [paths.usage(organization), 'Usage'],
    repos: () => [paths.repos(organization), 'Repos'],
    'pull tokens': () => [paths.pullTokens(organization), 'Pull tokens'],
    advisories: () => [paths.advisories(organization), 'Advisories'],
    account: () => [paths.account(), 'My account'],
    'people of the server': () => [paths.serverPeople(), 'People'],
    'removing a person': () => [`${paths.serverPeople()}?dialog=remove&about=${bystander}`, 'People'],
    'organizations of the server': () => [paths.serverOrganizations(), 'Organizations'],
    'an organization of the server': () => [paths.serverOrganization(organization), 'acme'],
    'keys of the server': () => [`${paths.serverKeys()}?dialog=rotate`, 'Keys'],
    'health of the server': () => [paths.serverHealth(), 'Health'],
    'no such page': () => ['/console/nowhere', 'No such page'],
  }
  for (const [name, target] of Object.entries(pages)) test(name, () => checkPage(stage, ...target()))

  test('a group that does not exist is not found', async () => {
    const { page, problems } = stage
    await page.goto(stage.at(paths.group(`${organization}/0123456789abcdef`)))
    await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor()
    // The browser reports the status 404 of the call; nothing else went wrong.
    assert.deepEqual(
      problems.splice(0).filter((text) => !text.includes('status of 404')),
      [],
    )
  })

  test('the palette', async () => {
    await stage.page.goto(stage.at(paths.group(organization)))
    await stage.page.getByRole('heading', { level: 1, name: 'acme' }).waitFor()
    await stage.page.keyboard.press('Control+k')
    await stage.page.getByRole('option', { name: 'Identities' }).waitFor()
    await checkShown(stage.page, 'the palette')
    await stage.page.keyboard.type('ident')
    await stage.page.keyboard.press('Enter')
    await stage.page.waitForURL(stage.at(paths.identities(organization)))
    await stage.page.keyboard.press('Control+k')
    const field = stage.page.getByRole('combobox', { name: 'Search or go to' })
    await field.fill(identity)
    await stage.page.getByRole('option', { name: 'ci Identities' }).waitFor()
    await field.fill(`${stage.platform.url} ${ownerEmail}`)
    await stage.page.getByRole('option', { name: `${ownerEmail} owner in acme` }).click()
    await stage.page.waitForURL(stage.at(`${paths.access(organization)}?identity=${stage.owner}`))
    await field.waitFor({ state: 'detached' })
    assert.deepEqual(stage.problems.splice(0), [])
  })
})
