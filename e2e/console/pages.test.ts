// Pages of the console in a real browser: accessible, at both sizes, in light and dark, without any
// problem. Pages that need more data, such as that of a repo, are in the other tests of this folder.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import { noChromium } from '../sign-in/chromium.ts'
import { addAccount } from '../sign-in/sign-in.ts'
import { checkPage, checkShown } from './check-page.ts'
import type { Stage } from './stage.ts'
import { makeOperator, openStage, ownerEmail } from './stage.ts'

type Made = { organization: string; identity: string; provider: string; bystander: string }

/** The path and the first heading of each page. Paths are made late, because they contain uids. */
const pages: Record<string, (made: Made) => [path: string, heading: string]> = {
  home: () => [paths.home(), 'Organizations'],
  overview: ({ organization }) => [paths.group(organization), 'acme'],
  groups: ({ organization }) => [paths.groups(organization), 'Groups'],
  'groups found by name': ({ organization }) => [`${paths.groups(organization)}?name=plat`, 'Groups'],
  'new group': ({ organization }) => [`${paths.groups(organization)}?dialog=create`, 'Groups'],
  identities: ({ organization }) => [paths.identities(organization), 'Identities'],
  identity: ({ organization, identity }) => [paths.identity(organization, identity), 'ci'],
  access: ({ organization }) => [paths.access(organization), 'Access'],
  roles: ({ organization }) => [paths.roles(organization), 'Roles'],
  why: ({ organization }) => [paths.why(organization), 'Why'],
  invites: ({ organization }) => [paths.invites(organization), 'Invites and requests'],
  'identity providers': ({ organization }) => [paths.identityProviders(organization), 'Identity providers'],
  'new identity provider': ({ organization }) => [
    `${paths.identityProviders(organization)}?dialog=create&preset=entra`,
    'Identity providers',
  ],
  accounts: ({ organization }) => [paths.accountAssociations(organization), 'Accounts'],
  'new accounts': ({ organization }) => [
    `${paths.accountAssociations(organization)}?dialog=create`,
    'Accounts',
  ],
  settings: ({ organization }) => [paths.settings(organization), 'Settings'],
  'settings, deleting': ({ organization }) => [`${paths.settings(organization)}?dialog=delete`, 'Settings'],
  'identity provider': ({ organization, provider }) => [
    paths.identityProvider(organization, provider),
    'sso',
  ],
  activity: ({ organization }) => [paths.activity(organization), 'Activity'],
  events: ({ organization }) => [paths.events(organization), 'Events'],
  'live events': ({ organization }) => [paths.liveEvents(organization), 'Live events'],
  usage: ({ organization }) => [paths.usage(organization), 'Usage'],
  repos: ({ organization }) => [paths.repos(organization), 'Repos'],
  'pull tokens': ({ organization }) => [paths.pullTokens(organization), 'Pull tokens'],
  advisories: ({ organization }) => [paths.advisories(organization), 'Advisories'],
  account: () => [paths.account(), 'My account'],
  'people of the server': () => [paths.serverPeople(), 'People'],
  'removing a person': ({ bystander }) => [
    `${paths.serverPeople()}?dialog=remove&about=${bystander}`,
    'People',
  ],
  'organizations of the server': () => [paths.serverOrganizations(), 'Organizations'],
  'an organization of the server': ({ organization }) => [paths.serverOrganization(organization), 'acme'],
  'keys of the server': () => [paths.serverKeys(), 'Keys'],
  'rotating a key': () => [`${paths.serverKeys()}?dialog=rotate`, 'Keys'],
  'health of the server': () => [paths.serverHealth(), 'Health'],
  'no such page': () => ['/console/nowhere', 'No such page'],
  'malformed path': () => ['/console/g/%zz', 'No such page'],
}

/** Makes something for each page to show. */
async function make(stage: Stage): Promise<Made> {
  await makeOperator(stage)
  const { organization } = stage
  const team = await stage.call('POST', `/iam/v2beta1/groups/${organization}`, {
    ...{ name: 'platform', description: 'runs the servers' },
  })
  const { uid: identity } = await stage.call('POST', `/iam/v2beta1/identities/${team.uid}`, {
    ...{ name: 'ci', claimMatch: { issuer: 'https://issuer.example.com', subject: 'job' } },
  })
  const { roles } = await stage.call('GET', '/iam/v2beta1/roles?name=viewer')
  const viewer = (roles as { uid: string }[])[0]?.uid ?? ''
  const { uid: provider } = await stage.call('POST', `/iam/v2beta1/identityProviders/${organization}`, {
    ...{ name: 'sso', defaultRole: viewer },
    oidc: { issuer: 'https://sso.example.com', clientId: 'stemma', pkceEnabled: true },
  })
  await stage.call('POST', `/iam/v2beta1/accountAssociations/${organization}`, {
    ...{ name: 'cloud', amazon: { account: '123456789012' } },
  })
  await stage.call('POST', `/iam/v2beta1/externalGroupRoleMappings/${provider}`, {
    ...{ externalGroupId: 'developers', roleUid: viewer, scope: team.uid as string },
  })
  const bystander = await addAccount(stage.platform, 'bystander@example.com')
  return { organization, identity: identity as string, provider: provider as string, bystander }
}

describe('a page of the console', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  let made: Made
  let organization: string

  before(async () => {
    stage = await openStage()
    organization = stage.organization
    made = await make(stage)
  })
  after(() => stage.close())

  for (const [name, target] of Object.entries(pages)) test(name, () => checkPage(stage, ...target(made)))

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
    await field.fill(made.identity)
    await stage.page.getByRole('option', { name: 'ci Identities' }).waitFor()
    await field.fill(`${stage.platform.url} ${ownerEmail}`)
    await stage.page.getByRole('option', { name: `${ownerEmail} owner in acme` }).click()
    await stage.page.waitForURL(stage.at(`${paths.access(organization)}?identity=${stage.owner}`))
    await field.waitFor({ state: 'detached' })
    assert.deepEqual(stage.problems.splice(0), [])
  })
})

const noPostgres = process.env.STEMMA_TEST_POSTGRES ? false : 'PostgreSQL is not running'

// Only opens the pages: their elements do not depend on the store, so checking their accessibility
// again would find nothing new.
test('the same pages of the console open on PostgreSQL', {
  timeout: 600_000,
  skip: noChromium ?? noPostgres,
}, async () => {
  const stage = await openStage('postgres')
  try {
    const made = await make(stage)
    for (const [name, target] of Object.entries(pages)) {
      const [path, heading] = target(made)
      // Dialogs show the data of their page.
      if (path.includes('dialog=')) continue
      await stage.page.goto(stage.at(path))
      await stage.page.getByRole('heading', { level: 1, name: heading }).waitFor()
      assert.deepEqual(stage.problems.splice(0), [], name)
    }
  } finally {
    await stage.close()
  }
})
