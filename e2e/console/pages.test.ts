// Pages of the console in a real browser: accessible, at both sizes, in light and dark, without any
// problem. Pages that need more data, such as that of a repo, are checked in the other tests of this folder.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import type { Page } from 'playwright-core'
import { ociClient } from '../registry/oci-client.ts'
import { noChromium } from '../sign-in/chromium.ts'
import { addAccount } from '../sign-in/sign-in.ts'
import { checkOpened, checkShown } from './check-page.ts'
import { pushWholeImage } from './pushed-image.ts'
import type { Stage } from './stage.ts'
import { makeOperator, openStage, ownerEmail } from './stage.ts'

type Made = { organization: string; identity: string; provider: string; bystander: string }

type Pages<Shown> = Record<string, (made: Shown) => [path: string, heading: string]>

/** The path and the first heading of each page. Paths are made late, because they contain uids. */
const pages: Pages<Made> = {
  home: () => [paths.home(), 'Organizations'],
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
  events: ({ organization }) => [paths.events(organization), 'Events'],
  repos: ({ organization }) => [paths.repos(organization), 'Repos'],
  'pull tokens': ({ organization }) => [paths.pullTokens(organization), 'Pull tokens'],
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

type MoreMade = Made & Record<'role' | 'repo' | 'tag' | 'advisory' | 'entry' | 'subscription', string>

/** The pages that other tests check. */
const otherPages: Pages<MoreMade> = {
  overview: ({ organization }) => [paths.group(organization), 'acme'],
  activity: ({ organization }) => [paths.activity(organization), 'Activity'],
  'live events': ({ organization }) => [paths.liveEvents(organization), 'Live events'],
  usage: ({ organization }) => [paths.usage(organization), 'Usage'],
  advisories: ({ organization }) => [paths.advisories(organization), 'Advisories'],
  'new identity': ({ organization }) => [paths.newIdentity(organization), 'New workload'],
  role: ({ organization, role }) => [paths.role(organization, role), 'deployer'],
  repo: ({ organization, repo }) => [paths.repo(organization, repo), 'app'],
  tag: ({ organization, tag }) => [paths.tag(organization, tag), 'app:latest'],
  advisory: ({ organization, advisory }) => [paths.advisory(organization, advisory), 'CGA-gggg-gggg-gggg'],
  'audit entry': ({ organization, entry }) => [
    paths.auditEntry(organization, entry),
    'created group platform',
  ],
  subscription: ({ organization, subscription }) => [
    paths.subscription(organization, subscription),
    'Subscription',
  ],
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

/** Makes something for each page that other tests check. */
async function makeMore(stage: Stage, made: Made): Promise<MoreMade> {
  const { organization } = made
  const uidOfNew = async (path: string, body: Parameters<Stage['call']>[2]) =>
    (await stage.call('POST', path, body)).uid as string
  const repo = await uidOfNew(`/registry/v2beta1/repos/${organization}`, { name: 'app' })
  const digest = await pushWholeImage(ociClient(stage.platform.url, stage.platform.owner.token), repo, 'v1')
  const { id } = await stage.call('POST', '/vulnerabilities/v1/advisories', {
    parentId: organization,
    advisory: {
      ...{ artifactName: 'openssl', artifactType: 'apk', advisoryId: 'CGA-gggg-gggg-gggg' },
      aliases: ['CVE-2026-10001'],
      events: [{ timestamp: '2026-01-01T00:00:00Z', status: 'APPROVED', detection: { manual: {} } }],
    },
  })
  const created = 'kind=groups&action=created'
  const { entries } = await stage.call(
    'GET',
    `/audit/v2beta1/entries?uidp.descendants_of=${organization}&${created}`,
  )
  return {
    ...made,
    role: await uidOfNew(`/iam/v2beta1/roles/${organization}`, {
      ...{ name: 'deployer', capabilities: ['CAP_IAM_GROUPS_LIST'] },
    }),
    repo,
    tag: await uidOfNew(`/registry/v2beta1/tags/${repo}`, { name: 'latest', digest }),
    advisory: id as string,
    entry: (entries as { uid: string }[])[0]?.uid ?? '',
    subscription: await uidOfNew(`/events/v2beta1/subscriptions/${organization}`, {
      sink: 'https://receiver.invalid/events',
    }),
  }
}

describe('a page of the console', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  let made: Made
  let organization: string

  before(async () => {
    stage = await openStage()
    organization = stage.organization
    made = await make(stage)
    await stage.page.goto(stage.at(paths.home()))
  })
  after(() => stage.close())

  for (const [name, target] of Object.entries(pages))
    test(name, async () => {
      const [path, heading] = target(made)
      await followLink(stage.page, stage.at(path))
      await checkOpened(stage, path, heading)
    })

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

/** Opens a page of the console in the loaded document, as a link does. Loading the document again takes twice as long. */
async function followLink(page: Page, url: string): Promise<void> {
  await page.evaluate((href) => {
    document.title = ''
    const link = document.createElement('a')
    link.href = href
    document.body.append(link)
    link.click()
    link.remove()
  }, url)
  // The console sets the title when it shows the page, not before its data is loaded.
  await page.waitForFunction(() => document.title !== '')
}

const noPostgres = process.env.STEMMA_TEST_POSTGRES ? false : 'PostgreSQL is not running'

async function routePaths(): Promise<string[]> {
  // Not a literal, so that TypeScript does not check the files of the console with the settings for this file.
  const name = '@stemma/console/routes.ts'
  const { routes } = (await import(name)) as { routes: { path: string }[] }
  return routes.map(({ path }) => path)
}

const patternOf = (path: string) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}(\\?|$)`)

// Only loads the pages: their elements do not depend on the store, so checking their accessibility
// again would find nothing new. The page after a sign-in is left out: it closes its window.
test('all pages of the console open on PostgreSQL', {
  timeout: 600_000,
  skip: noChromium ?? noPostgres,
}, async () => {
  const stage = await openStage('postgres')
  try {
    const made = await makeMore(stage, await make(stage))
    const opened = [paths.signedIn()]
    for (const [name, target] of Object.entries({ ...pages, ...otherPages })) {
      const [path, heading] = target(made)
      opened.push(path)
      // Dialogs show the data of their page.
      if (path.includes('dialog=')) continue
      await stage.page.goto(stage.at(path))
      await stage.page.getByRole('heading', { level: 1, name: heading }).waitFor()
      assert.deepEqual(stage.problems.splice(0), [], name)
    }
    const isOpened = (pattern: RegExp) => opened.some((path) => pattern.test(path))
    const forgotten = (await routePaths()).filter((path) => !isOpened(patternOf(path)))
    assert.deepEqual(forgotten, [], 'pages that are not in the list')
  } finally {
    await stage.close()
  }
})
