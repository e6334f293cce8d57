// Identity providers, accounts and settings of an organization in a real browser.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import { builtInRole } from '@stemma/server/policy/built-in-roles.ts'
import { noChromium } from '../sign-in/chromium.ts'
import { checkShown } from './check-page.ts'
import { addManyGroups } from './many-groups.ts'
import type { Stage } from './stage.ts'
import { openStage } from './stage.ts'

const termsId = 'terms-of-use.v1'

describe('the settings of an organization in the console', {
  timeout: 600_000,
  skip: noChromium ?? false,
}, () => {
  let stage: Stage
  let organization: string
  let provider: string

  before(async () => {
    stage = await openStage('sqlite', ['--terms', `${termsId}=https://example.com/terms`])
    organization = stage.organization
    await stage.call('POST', `/iam/v2beta1/groups/${organization}`, { name: 'platform' })
  })
  after(() => stage.close())
  const noProblems = () => assert.deepEqual(stage.problems.splice(0), [])
  const providers = async () => {
    const { identityProviders = [] } = await stage.call('GET', '/iam/v2beta1/identityProviders')
    return identityProviders as { uid: string; name: string; defaultRole: string; oidc: object }[]
  }
  const stored = async () => await stage.call('GET', `/iam/v2beta1/identityProviders/${provider}`)
  /** Leaves the provider's page first, which could still be reading the provider. */
  const deleteProvider = async (uid: string) => {
    await stage.page.goto('about:blank')
    await stage.call('DELETE', `/iam/v2beta1/identityProviders/${uid}`)
  }

  test('a group that was deleted on its own page is not read again', async () => {
    const { page } = stage
    const made = await stage.call('POST', `/iam/v2beta1/groups/${organization}`, { name: 'short-lived' })
    const uid = made.uid as string
    await page.goto(stage.at(`${paths.groups(uid)}?dialog=delete`))
    const requests: string[] = []
    page.on('request', (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`))
    await page.getByRole('button', { name: 'Delete group' }).click()
    await page.getByText('Group deleted').waitFor()
    await page.getByRole('treeitem', { name: 'platform' }).waitFor()
    // The console reads the organization a second time when it reloads outdated data. A request for
    // the deleted group would come before that.
    const groupsPath = '/iam/v2beta1/groups'
    while (requests.filter((request) => request === `GET ${groupsPath}/${organization}`).length < 2)
      await page.waitForEvent('request')
    const last = requests.filter((request) => request.includes(uid)).at(-1)
    assert.equal(last, `DELETE ${groupsPath}/${uid}`)
    noProblems()
  })

  test('a group is called empty only if its content could be read', async () => {
    const { page } = stage
    const usageUrl = /\/groups\/[^?]*:usage/
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    await page.route(usageUrl, async (route) => {
      await released
      await route.fulfill({ status: 403, json: { code: 7, message: 'Permission denied: no access' } })
    })
    await page.goto(stage.at(`${paths.groups(organization)}?dialog=delete`))
    const dialog = page.getByRole('dialog', { name: 'Delete organization' })
    await dialog.locator('.skeleton').waitFor()
    assert.equal(await dialog.getByText('is empty').count(), 0)
    release()
    await dialog.getByRole('alert').waitFor()
    assert.equal(await dialog.getByText('is empty').count(), 0)
    await page.unroute(usageUrl)
    stage.problems.splice(0)
  })

  test('after a dialog on the second page of a list, Previous leads to the first page', async () => {
    const { page } = stage
    const crowd = await addManyGroups(stage, 'crowd', 60)
    await page.goto(stage.at(`${paths.groups(crowd)}?name=crowd-`))
    await page.getByRole('button', { name: 'Next', exact: true }).click()
    await page.getByRole('link', { name: 'crowd-00050', exact: true }).waitFor()
    await page.getByRole('link', { name: 'New group' }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Previous', exact: true }).click()
    await page.getByRole('link', { name: 'crowd-00000', exact: true }).waitFor()
    noProblems()
  })

  test('a provider is created from a preset, and its page shows the redirect URI to register', async () => {
    const { page } = stage
    await page.goto(stage.at(paths.identityProviders(organization)))
    await page.getByRole('heading', { name: 'No identity provider' }).waitFor()
    await page.getByRole('link', { name: 'New identity provider' }).click()
    await page.getByRole('link', { name: 'Microsoft Entra ID' }).click()
    const issuer = 'https://login.microsoftonline.com/acme/v2.0'
    await page.getByLabel('Issuer').fill(issuer)
    await page.getByLabel('Client id').fill('stemma')
    await page.getByLabel('Client secret').fill('hush')
    await page.getByRole('button', { name: 'Create identity provider' }).click()
    await page.getByRole('heading', { level: 1, name: 'entra' }).waitFor()
    const [made] = await providers()
    provider = made?.uid ?? ''
    assert.deepEqual(made?.oidc, {
      ...{ issuer, clientId: 'stemma', additionalScopes: [], groupsClaim: 'groups', pkceEnabled: true },
      correlationRule: 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID',
    })
    const { roles } = await stage.call('GET', '/iam/v2beta1/roles?name=viewer')
    assert.equal(made?.defaultRole, (roles as { uid: string }[])[0]?.uid, 'viewer is the default role')
    const uri = page.getByLabel('redirect URI', { exact: true })
    assert.equal(await uri.textContent(), `${stage.platform.url}/oauth/callback/${provider}`)
    noProblems()
  })

  test('a test of the sign-in opens in a window of its own and says what is wrong', async () => {
    const { page } = stage
    // Nothing listens on port 1.
    const unreachable = await stage.call('POST', `/iam/v2beta1/identityProviders/${organization}`, {
      ...{ name: 'broken', defaultRole: builtInRole('viewer').uid },
      oidc: { issuer: 'https://127.0.0.1:1', clientId: 'stemma', clientSecret: 'hush' },
    })
    const uid = unreachable.uid as string
    await page.goto(stage.at(paths.identityProvider(organization, uid)))
    const opened = page.waitForEvent('popup')
    await page.getByRole('link', { name: 'Test sign-in' }).click()
    const popup = await opened
    await popup.getByRole('heading', { name: 'The sign-in does not work' }).waitFor()
    await popup.close()
    await deleteProvider(uid)
    noProblems()
  })

  test('editing the provider of a subgroup keeps a default role that belongs to the subgroup', async () => {
    const { page } = stage
    const { uid: team } = await stage.call('POST', `/iam/v2beta1/groups/${organization}`, { name: 'below' })
    const { uid: role } = await stage.call('POST', `/iam/v2beta1/roles/${team}`, {
      ...{ name: 'reader', capabilities: ['CAP_IAM_GROUPS_LIST'] },
    })
    const made = await stage.call('POST', `/iam/v2beta1/identityProviders/${team}`, {
      ...{ name: 'of-below', defaultRole: String(role) },
      oidc: { issuer: 'https://issuer.test', clientId: 'stemma', clientSecret: 'hush' },
    })
    const uid = made.uid as string
    await page.goto(stage.at(`${paths.identityProvider(organization, uid)}?dialog=edit`))
    await page.getByLabel('Description').fill('Sign-in of the team')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const changed = await stage.call('GET', `/iam/v2beta1/identityProviders/${uid}`)
    assert.deepEqual([changed.description, changed.defaultRole], ['Sign-in of the team', role])
    await deleteProvider(uid)
    noProblems()
  })

  test('a change keeps the other fields, and a new issuer needs the secret again', async () => {
    const { page } = stage
    const before = await stored()
    await page.goto(stage.at(`${paths.identityProvider(organization, provider)}?dialog=edit`))
    await page.getByLabel('Description').fill('Sign-in of all employees')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('Sign-in of all employees').waitFor()
    const { description, updateTime, ...rest } = await stored()
    assert.equal(description, 'Sign-in of all employees')
    const { description: _, updateTime: __, ...restBefore } = before
    assert.deepEqual(rest, restBefore)
    await page.goto(stage.at(`${paths.identityProvider(organization, provider)}?dialog=edit`))
    await page.getByLabel('Issuer').fill('https://login.example.com')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Must be sent again if the issuer changes.', { exact: true }).waitFor()
    assert.deepEqual(
      stage.problems.splice(0).filter((text) => !text.includes('status of 400')),
      [],
    )
  })

  test('groups of the provider get roles and lose them, one by one or several at once', async () => {
    const { page } = stage
    const map = async (group: string, where: string) => {
      await page.goto(stage.at(`${paths.identityProvider(organization, provider)}?dialog=map`))
      await page.getByLabel('Group at the provider').fill(group)
      await page.getByRole('combobox', { name: 'In the group' }).fill(where)
      await page.getByRole('option', { name: where }).click()
      await page.getByLabel('Role', { exact: true }).selectOption({ label: 'editor' })
      await page.getByRole('button', { name: 'Map group' }).click()
      await page.getByRole('row', { name: new RegExp(`${group} editor ${where}`) }).waitFor()
    }
    await map('developers', 'platform')
    await map('operators', 'acme')
    await map('auditors', 'acme')
    await page.getByRole('button', { name: 'Actions for developers' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Remove mapping' }).click()
    await page.getByRole('row', { name: /developers/ }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Remove several' }).click()
    await page.getByLabel('operators: editor in acme').check()
    await page.getByLabel('auditors: editor in acme').check()
    await checkShown(page, 'the dialog to remove several mappings')
    await page.getByRole('button', { name: 'Remove 2' }).click()
    await page.getByRole('heading', { name: 'No group has a role' }).waitFor()
    noProblems()
  })

  test('provisioning is turned on with a token that is shown once, replaced and revoked', async () => {
    const { page } = stage
    const scim = async () => (await stored()).scim as { enabled: boolean; etag: string }
    const shownToken = async () => {
      const token = await page.getByLabel('token', { exact: true }).textContent()
      assert.match(token ?? '', /^cgscim_[0-9a-f]{64}$/)
      await page.getByRole('button', { name: 'Done' }).click()
      return token ?? ''
    }
    await page.goto(stage.at(paths.identityProvider(organization, provider)))
    await page.getByRole('link', { name: 'Create a token' }).click()
    await page.getByRole('button', { name: 'Create token' }).click()
    const first = await shownToken()
    await page.getByRole('link', { name: 'Turn on' }).click()
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByRole('link', { name: 'Turn off' }).waitFor()
    assert.equal((await scim()).enabled, true)
    const users = (token: string) =>
      fetch(`${stage.platform.url}/scim/v2/${provider}/Users`, {
        headers: { authorization: `Bearer ${token}` },
      })
    assert.equal((await users(first)).status, 200)
    await page.getByRole('link', { name: 'Replace the token' }).click()
    await page.getByLabel('The previous token still works for').selectOption({ label: 'a day' })
    await page.getByRole('button', { name: 'Replace token' }).click()
    const second = await shownToken()
    await page.getByText('works, and the previous one too').waitFor()
    assert.deepEqual([(await users(first)).status, (await users(second)).status], [200, 200])
    await page.getByRole('link', { name: 'Replace the token' }).click()
    const replace = page.getByRole('button', { name: 'Replace token', disabled: false })
    await replace.waitFor()
    // Somebody else replaces it first. The next attempt succeeds.
    await stage.call('POST', `/iam/v2beta1/identityProviders/${provider}:regenerateScimToken`, {
      ...{ etag: (await scim()).etag, overlap: '0s', neverExpires: true },
    })
    await replace.click()
    await page.getByRole('alert').getByText('Changed by somebody else').waitFor()
    await replace.click()
    assert.equal((await users(await shownToken())).status, 200)
    await page.getByRole('link', { name: 'Revoke the token' }).click()
    await page.getByRole('button', { name: 'Revoke token' }).click()
    await page.getByText('revoked', { exact: true }).waitFor()
    assert.deepEqual([(await users(first)).status, (await users(second)).status], [401, 401])
    await page.getByRole('link', { name: 'Turn off' }).click()
    await page.getByRole('button', { name: 'Turn off' }).click()
    await page.getByRole('link', { name: 'Turn on' }).waitFor()
    assert.deepEqual(
      stage.problems.splice(0).filter((text) => !/status of 4(09|12)/.test(text)),
      [],
    )
  })

  test('a person is found by the subject of their tokens', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.identityProvider(organization, provider)}?dialog=find`))
    await page.getByLabel('Subject').fill('oid:4711')
    await page.getByRole('button', { name: 'Find', exact: true }).click()
    const uid = await page.getByLabel('uid', { exact: true }).textContent()
    assert.match(uid ?? '', /^[0-9a-f]{40}$/)
    assert.ok(
      (await page.getByRole('link', { name: 'Why', exact: true }).last().getAttribute('href'))?.includes(
        uid ?? '',
      ),
    )
    noProblems()
  })

  test('a provider is deleted after its name was typed', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.identityProvider(organization, provider)}?dialog=delete`))
    await page.getByLabel('Type entra to confirm').fill('entrance')
    await page.getByRole('button', { name: 'Delete identity provider' }).click()
    assert.equal((await providers()).length, 1)
    await page.getByLabel('Type entra to confirm').fill('entra')
    await page.getByRole('button', { name: 'Delete identity provider' }).click()
    await page.getByRole('heading', { name: 'No identity provider' }).waitFor()
    assert.equal((await providers()).length, 0)
    noProblems()
  })

  test('cloud accounts are associated with a group, checked, changed and deleted', async () => {
    const { page } = stage
    const path = `/iam/v2beta1/accountAssociations/${organization}`
    await page.goto(stage.at(paths.accountAssociations(organization)))
    await page.getByRole('heading', { name: 'No accounts here' }).waitFor()
    await page.getByRole('link', { name: 'Associate accounts' }).click()
    await page.getByLabel('Name', { exact: true }).fill('cloud')
    await page.getByLabel('AWS account').fill('123')
    await page.getByRole('button', { name: 'Associate accounts' }).last().click()
    await page.locator('.field-problem').waitFor()
    await page.getByLabel('AWS account').fill('123456789012')
    await page.getByLabel('GitHub app installations').fill('12 34 acme')
    await page.getByRole('button', { name: 'Associate accounts' }).last().click()
    const row = page.getByRole('row', { name: /cloud acme AWS 123456789012, GitHub app/ })
    await row.waitFor()
    const disabled = page.getByRole('button', { name: 'Associate accounts' })
    const reason = 'This group already has an account association. Change it instead.'
    assert.equal(await disabled.getAttribute('title'), reason)
    const open = async (item: string) => {
      await row.getByRole('button', { name: 'Actions for cloud' }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await open('Check')
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.getByText('not ready').waitFor()
    await checkShown(page, 'the result of a check')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await open('Change')
    assert.equal(await page.getByLabel('GitHub app installations').inputValue(), '12 34 acme')
    await page.getByLabel('AWS account').fill('')
    await page.getByLabel('Google Cloud project id').fill('acme-prod')
    await page.getByLabel('Google Cloud project number').fill('4711')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /cloud acme Google acme-prod, GitHub app/ }).waitFor()
    const { amazon, google } = await stage.call('GET', path)
    assert.deepEqual([amazon, google], [undefined, { projectId: 'acme-prod', projectNumber: '4711' }])
    await page.getByRole('button', { name: 'Actions for cloud' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete account association' }).click()
    await page.getByRole('heading', { name: 'No accounts here' }).waitFor()
    assert.deepEqual(
      stage.problems.splice(0).filter((text) => !text.includes('status of 400')),
      [],
    )
  })

  test('the settings of an organization are saved: its texts, the second factor and terms', async () => {
    const { page } = stage
    const saved = () => stage.call('GET', `/iam/v2beta1/groups/${organization}`)
    await page.goto(stage.at(paths.settings(organization)))
    await page.getByLabel('Description').fill('makes everything')
    await page.getByRole('button', { name: 'Save' }).first().click()
    await page.getByText('Settings saved').waitFor()
    await page.getByLabel('Require a second factor').check()
    await page.getByRole('button', { name: 'Save' }).last().click()
    await page.getByText('second factor required').waitFor()
    const { name, description, secondFactorRequired } = await saved()
    assert.deepEqual([name, description, secondFactorRequired], ['acme', 'makes everything', true])
    await page.getByLabel('Require a second factor').uncheck()
    await page.getByRole('button', { name: 'Save' }).last().click()
    await page.getByText('second factor required').waitFor({ state: 'detached' })
    assert.equal((await saved()).secondFactorRequired, false)
    await page.getByRole('link', { name: 'Accept documents' }).click()
    await page.getByLabel('Ids of the documents').fill(termsId)
    await page.getByRole('button', { name: 'Accept', exact: true }).click()
    await page.getByRole('row', { name: new RegExp(`${termsId} .* this group`) }).waitFor()
    noProblems()
  })

  test('an organization is deleted after its name was typed, if it is empty', async () => {
    const { page } = stage
    const spare = await stage.call('POST', '/iam/v2beta1/groups', { name: 'spare' })
    const uid = spare.uid as string
    const team = await stage.call('POST', `/iam/v2beta1/groups/${uid}`, { name: 'team' })
    await page.goto(stage.at(paths.settings(uid)))
    await page.getByRole('link', { name: 'Delete organization' }).click()
    await page.getByRole('link', { name: '1 group', exact: true }).waitFor()
    await page.getByLabel('Type spare to confirm').fill('spare')
    await page.getByRole('button', { name: 'Delete organization' }).click()
    await page.getByText('Cannot delete group with child').waitFor()
    await stage.call('DELETE', `/iam/v2beta1/groups/${team.uid}`)
    await page.goto(stage.at(`${paths.settings(uid)}?dialog=delete`))
    await page.getByLabel('Type spare to confirm').fill('spar')
    await page.getByRole('button', { name: 'Delete organization' }).last().click()
    assert.equal((await stage.call('GET', `/iam/v2beta1/groups/${uid}`)).name, 'spare')
    await page.getByLabel('Type spare to confirm').fill('spare')
    await page.getByRole('button', { name: 'Delete organization' }).last().click()
    await page.waitForURL(stage.at(paths.home()))
    const { groups } = await stage.call('GET', '/iam/v2beta1/groups?uidp.in_root=true')
    assert.ok(!(groups as { uid: string }[]).some((group) => group.uid === uid))
    assert.deepEqual(
      stage.problems.splice(0).filter((text) => !text.includes('status of 400')),
      [],
    )
  })

  test('a person changes their profile', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.account()}?dialog=profile`))
    await page.getByLabel('Company').fill('Acme Inc.')
    await page.getByLabel('Inform me of news').check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Acme Inc.').waitFor()
    await page.getByText('wanted').waitFor()
    noProblems()
  })
})
