// Repos, tags, pull tokens and advisories in a real browser.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import { noChromium } from '../sign-in/chromium.ts'
import { checkPage, checkShown } from './check-page.ts'
import type { Stage } from './stage.ts'
import { openStage } from './stage.ts'

describe('the registry in the console', { timeout: 600_000, skip: noChromium ?? false }, () => {
  let stage: Stage
  let organization: string

  before(async () => {
    stage = await openStage()
    organization = stage.organization
  })
  after(() => stage.close())
  const noProblems = () => assert.deepEqual(stage.problems.splice(0), [])

  test('a repo is created, described, and deleted by typing its name', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.repos(organization)}?dialog=create`))
    await page.getByLabel('Name', { exact: true }).fill('app')
    await page.getByRole('button', { name: 'Create repo' }).click()
    await page.getByRole('link', { name: 'app', exact: true }).click()
    await page.getByText('docker push').waitFor()
    await page.getByRole('link', { name: 'Change repo' }).click()
    await page.getByLabel('Description').fill('the application')
    await page.getByLabel('Readme').fill('How to run it')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('How to run it').waitFor()
    await page.goto(stage.at(paths.repos(organization)))
    await page.getByRole('button', { name: 'Actions for app' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByLabel('Type app to confirm').fill('app')
    await page.getByRole('button', { name: 'Delete repo' }).click()
    await page.getByRole('heading', { name: 'No repos yet' }).waitFor()
    noProblems()
  })

  test('a repo shows its tags with digest and pull command', async () => {
    const repo = (await stage.call('POST', `/registry/v2beta1/repos/${organization}`, { name: 'tools' }))
      .uid as string
    const digest = `sha256:${'ab'.repeat(32)}`
    await stage.call('POST', `/registry/v2beta1/tags/${repo}`, { name: 'v1', digest })
    await checkPage(stage, paths.repo(organization, repo), 'tools')
    await stage.page.getByRole('button', { name: 'Copy the pull command of v1' }).waitFor()
    await stage.page.getByText('sha256:abababab').waitFor()
    noProblems()
  })

  test('a pull token shows its login once, and is revoked', async () => {
    const { page } = stage
    await page.goto(stage.at(`${paths.pullTokens(organization)}?dialog=create`))
    await page.getByLabel('Name', { exact: true }).fill('cluster')
    await page.getByRole('button', { name: 'Create pull token' }).click()
    const command = await page.getByLabel('login command', { exact: true }).innerText()
    assert.match(command, /^docker login \S+ --username \S+ --password \S{20,}$/)
    await checkShown(page, 'a new pull token')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Actions for cluster' }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Delete pull token' }).click()
    await page.getByRole('heading', { name: 'No pull tokens' }).waitFor()
    noProblems()
  })
})
