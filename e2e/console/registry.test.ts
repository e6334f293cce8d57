// Repos, tags, pull tokens and advisories in a real browser.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { paths } from '@stemma/console/paths.ts'
import type { Download } from 'playwright-core'
import {
  descriptor,
  digestOf,
  imageOf,
  indexOf,
  ociClient,
  pushParts,
  types,
} from '../registry/oci-client.ts'
import { noChromium } from '../sign-in/chromium.ts'
import { checkPage, checkShown } from './check-page.ts'
import { configOf, pushWholeImage } from './pushed-image.ts'
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
    await page.getByText(/docker push localhost:\d+\/acme\/app:v1/).waitFor()
    await page.getByRole('link', { name: 'Change repo' }).click()
    await page.getByLabel('Description').fill('the application')
    await page.getByLabel('Readme').fill('How to run it')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.locator('.markdown').getByText('How to run it').waitFor()
    // Another change keeps the line breaks of a readme, also those of Windows and at its end.
    const { repos } = await stage.call('GET', '/registry/v2beta1/repos?name=app')
    const readme = `/registry/v2beta1/repos/${(repos as { uid: string }[])[0]?.uid}/readme`
    const windowsText = 'How to run it\r\non Windows\r\n'
    await stage.call('PATCH', readme, { content: windowsText })
    await page.reload()
    await page.getByRole('link', { name: 'Change repo' }).click()
    await page.getByLabel('Description').fill('another description')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal((await stage.call('GET', readme)).content, windowsText)
    await page.goto(stage.at(paths.repos(organization)))
    await page.getByRole('button', { name: 'Actions for app' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByText('The repo is empty.').waitFor()
    await page.getByLabel('Type app to confirm').fill('app')
    await page.getByRole('button', { name: 'Delete repo' }).click()
    await page.getByRole('heading', { name: 'No repos yet' }).waitFor()
    noProblems()
  })

  test('the push commands name the repo by its uid if a group has a name that registry clients reject', async () => {
    const { page } = stage
    const group = await stage.call('POST', `/iam/v2beta1/groups/${organization}`, { name: 'two words' })
    await page.goto(stage.at(paths.repos(String(group.uid))))
    await page.getByText('Create a repo first.').waitFor()
    assert.equal(await page.getByText('docker push').count(), 0)
    const repo = await stage.call('POST', `/registry/v2beta1/repos/${group.uid}`, { name: 'app' })
    await page.goto(stage.at(paths.repo(String(group.uid), String(repo.uid))))
    const commands = await page.getByLabel('push commands', { exact: true }).innerText()
    const { host } = new URL(stage.platform.url)
    const image = commands.match(/^docker push (\S+):v1$/m)?.[1]
    assert.equal(image, `${host}/${repo.uid}`)
    const client = ociClient(stage.platform.url, await stage.platform.tokenOf(stage.owner))
    await client.pushImage(image.slice(host.length + 1), 'v1', 'the first image')
    await page.reload()
    await page.getByRole('link', { name: 'v1', exact: true }).waitFor()
    noProblems()
  })

  test('a readme that is not loaded yet, or cannot be loaded, is not replaced', async () => {
    const { page } = stage
    const repo = (await stage.call('POST', `/registry/v2beta1/repos/${organization}`, { name: 'slow' }))
      .uid as string
    const readme = `/registry/v2beta1/repos/${repo}/readme`
    await stage.call('PATCH', readme, { content: 'How to run it' })
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let isRefused = false
    await page.route('**/readme', async (route) => {
      await released
      await (isRefused
        ? route.fulfill({ status: 403, json: { code: 7, message: 'Permission denied: no access' } })
        : route.continue())
    })
    const field = page.getByRole('dialog').getByLabel('Readme')
    const edit = stage.at(`${paths.repo(organization, repo)}?dialog=edit`)
    await page.goto(edit)
    await page.getByLabel('Description').waitFor()
    assert.equal(await field.count(), 0)
    release()
    await field.waitFor()
    assert.equal(await field.inputValue(), 'How to run it')
    isRefused = true
    await page.goto(edit)
    await page.getByRole('dialog').getByText('Access denied').waitFor()
    assert.equal(await field.count(), 0)
    await page.getByLabel('Description').fill('starts slowly')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.unroute('**/readme')
    assert.equal((await stage.call('GET', readme)).content, 'How to run it')
    assert.deepEqual(
      stage.problems.splice(0).filter((text) => !text.includes('status of 403')),
      [],
    )
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

  const uidOf = async (kind: 'repos' | 'tags', name: string) => {
    const list = await stage.call('GET', `/registry/v2beta1/${kind}?name=${name}`)
    return (list[kind] as { uid: string }[])[0]?.uid ?? ''
  }

  test('a tag shows its image: platforms, layers, configuration, history, referrers and packages', async () => {
    const { page } = stage
    const client = ociClient(stage.platform.url, await stage.platform.tokenOf(stage.owner))
    const first = await client.pushImage('acme/whole', 'v1', 'an older image')
    const digest = await pushWholeImage(client, 'acme/whole', 'v1')
    const repo = await uidOf('repos', 'whole')
    const path = paths.tag(organization, await uidOf('tags', `v1&uidp.children_of=${repo}`))
    await checkPage(stage, path, 'whole:v1')
    const host = new URL(stage.platform.url).host
    const pull = page.getByLabel('pull command', { exact: true })
    assert.equal(await pull.innerText(), `docker pull ${host}/acme/whole:v1`)
    await page.getByText(`docker pull ${host}/acme/whole@${digest}`).waitFor()
    await page.getByLabel('Client').selectOption('podman')
    await page.getByText(`podman pull --tls-verify=false ${host}/acme/whole:v1`).waitFor()
    await page.getByText('ADD file:1 in /').waitFor()
    await page.getByRole('img', { name: '2 layers, 5 kB' }).waitFor()
    await page.getByRole('link', { name: 'linux/arm64' }).click()

    await page.getByRole('link', { name: 'Configuration' }).click()
    await page.getByText(`serve 'two words'`).waitFor()
    await page.getByText('linux/arm64', { exact: true }).nth(1).waitFor()
    await checkShown(page, 'the configuration of an image')

    await page.getByRole('link', { name: 'History' }).click()
    const [now, before] = [digest, first].map((each) =>
      page.getByRole('row', { name: new RegExp(`${each.slice(0, 19)}.*owner@example.com`) }),
    )
    await now?.getByText('now', { exact: true }).waitFor()
    await before?.waitFor()

    await page.getByRole('link', { name: 'Referrers 2' }).click()
    await page.getByRole('row', { name: /Signature application\/vnd\.dev\.cosign.*unknown/ }).waitFor()
    await checkShown(page, 'the referrers of an image')

    await page.getByRole('link', { name: 'Packages' }).click()
    await page.getByText('100 of 300 packages are shown').waitFor()
    await page.getByRole('searchbox', { name: 'Search packages' }).fill('package-29')
    await page.getByText('SPDX 2.3. 11 of 300 packages.').waitFor()
    await page.getByRole('row', { name: 'package-299 1.299' }).waitFor()
    noProblems()
  })

  test('an index in an index can be opened like a platform, and all referrers are shown', async () => {
    const { page } = stage
    const client = ociClient(stage.platform.url, await stage.platform.tokenOf(stage.owner))
    const intel = await pushParts(client, 'acme/nested', '', { config: configOf('amd64'), layers: ['base'] })
    const inner = indexOf([{ manifest: intel, platform: { os: 'linux', architecture: 'amd64' } }])
    await client.pushManifest('acme/nested', digestOf(inner), inner, types.index)
    const outer = indexOf([
      { manifest: intel, platform: { os: 'linux', architecture: 'arm64' } },
      { manifest: inner, type: types.index },
    ])
    await client.pushManifest('acme/nested', 'v1', outer, types.index)
    const subject = descriptor(inner, types.index)
    await client.pushBlob('acme/nested', '{}')
    const push = (at: number) =>
      client.pushManifest('acme/nested', `signature-${at}`, imageOf('base', { subject, at }))
    await Promise.all(Array.from({ length: 105 }, (_, at) => push(at)))
    const repo = await uidOf('repos', 'nested')
    await page.goto(stage.at(paths.tag(organization, await uidOf('tags', `v1&uidp.children_of=${repo}`))))
    await page.getByRole('link', { name: 'index', exact: true }).click()
    await page.getByRole('heading', { name: 'Platforms in the chosen index' }).waitFor()
    await page.getByRole('link', { name: 'linux/amd64' }).click()
    await page.getByRole('img', { name: '1 layer, 4 B' }).waitFor()
    await checkShown(page, 'an image in an index in an index')
    await page.getByRole('link', { name: 'Referrers 100+' }).click()
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByRole('link', { name: 'Referrers 105', exact: true }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0)
    noProblems()
  })

  test('a person who may only look sees the layers, and why the configuration is hidden', async () => {
    const repo = await uidOf('repos', 'whole')
    const path = paths.tag(organization, await uidOf('tags', `v1&uidp.children_of=${repo}`))
    const looker = await stage.platform.addUser('looker@example.com')
    await stage.platform.bind(looker.identity, 'console_viewer', organization)
    const page = await stage.openPage(looker.identity)
    await page.goto(stage.at(path))
    await page.getByRole('img', { name: '2 layers, 5 kB' }).waitFor()
    for (const view of ['Configuration', 'Packages']) {
      await page.getByRole('link', { name: view }).click()
      await page.getByText('You need the capability repo.blobs.get').waitFor()
    }
    await page.context().close()
    noProblems()
  })

  test('a tag is created, moved and deleted', async () => {
    const { page } = stage
    const client = ociClient(stage.platform.url, await stage.platform.tokenOf(stage.owner))
    const image = await client.pushImage('acme/moving', 'v1', 'one')
    const other = await client.pushImage('acme/moving', 'v2', 'two')
    await page.goto(stage.at(`${paths.repo(organization, await uidOf('repos', 'moving'))}?dialog=create-tag`))
    await page.getByLabel('Name', { exact: true }).fill('stable')
    await page.getByRole('button', { name: 'Create tag' }).click()
    await page.locator('input[name=digest]:invalid').waitFor()
    assert.equal(await page.getByRole('alert').count(), 0, 'nothing is sent without a digest')
    await page.getByLabel('Digest of the image').fill(digestOf('nothing'))
    await page.getByText('The repo does not have this image yet.').waitFor()
    await page.getByLabel('Digest of the image').fill(image)
    await page.getByText('An image for an unknown architecture.').waitFor()
    await checkShown(page, 'the dialog of a new tag')
    await page.getByRole('button', { name: 'Create tag' }).click()
    await page.getByRole('link', { name: 'stable', exact: true }).click()
    await page.getByRole('link', { name: 'Move or change' }).click()
    await page.getByLabel('Digest of the image').fill(other)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`@${other}`).waitFor()
    await page.getByRole('link', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete tag' }).click()
    await page.getByRole('heading', { level: 1, name: 'moving' }).waitFor()
    await page.getByRole('link', { name: 'stable', exact: true }).waitFor({ state: 'detached' })
    // The browser reports the status 404 of the image that the repo does not have.
    assert.deepEqual(
      stage.problems.splice(0).filter((text) => !text.includes('status of 404')),
      [],
    )
  })

  test('saving a dialog keeps the fields that somebody else has changed since it was opened', async () => {
    const { page } = stage
    const client = ociClient(stage.platform.url, await stage.platform.tokenOf(stage.owner))
    await client.pushImage('acme/shared', 'v1', 'one')
    const repo = await uidOf('repos', 'shared')
    const tag = await uidOf('tags', `v1&uidp.children_of=${repo}`)
    await page.goto(stage.at(`${paths.tag(organization, tag)}?dialog=edit`))
    await page.getByLabel('Deprecated').check()
    const pushed = await client.pushImage('acme/shared', 'v1', 'two')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`@${pushed}`).waitFor()
    const { digest, deprecated } = await stage.call('GET', `/registry/v2beta1/tags/${tag}`)
    assert.deepEqual({ digest, deprecated }, { digest: pushed, deprecated: true })

    const repoPath = `/registry/v2beta1/repos/${repo}`
    await stage.call('PATCH', repoPath, { public: true })
    await page.goto(stage.at(`${paths.repo(organization, repo)}?dialog=edit`))
    await page.getByLabel('Description').fill('for everybody')
    await stage.call('PATCH', `${repoPath}?updateMask=public`, { public: false })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { public: isPublic = false, description } = await stage.call('GET', repoPath)
    assert.deepEqual({ isPublic, description }, { isPublic: false, description: 'for everybody' })
    noProblems()
  })

  test('retention rules can be previewed before they are saved', async () => {
    const { page } = stage
    const client = ociClient(stage.platform.url, await stage.platform.tokenOf(stage.owner))
    for (const tag of ['v1', 'nightly-1', 'nightly-2']) await client.pushImage('acme/kept', tag, tag)
    const path = paths.repo(organization, await uidOf('repos', 'kept'))
    await page.goto(stage.at(`${path}?dialog=retention`))
    await page.getByRole('button', { name: 'Add rule' }).click()
    await page.getByRole('textbox', { name: 'Tags' }).fill('v*')
    await page.getByRole('button', { name: 'Preview what would be deleted' }).click()
    await page.getByText('2 tags and 0 images would be deleted now. 1 tag would be kept.').waitFor()
    const doomed = page.getByRole('table', { name: 'Would be deleted' })
    await doomed.getByRole('row', { name: /nightly-2 sha256:/ }).waitFor()
    await checkShown(page, 'the dialog of retention')
    // A preview is shown only as long as it belongs to the values of the form, and errors only until the next attempt.
    const tags = page.getByRole('textbox', { name: 'Tags' })
    const previewRules = () => page.getByRole('button', { name: 'Preview what would be deleted' }).click()
    await tags.fill('not/a/tag')
    await doomed.waitFor({ state: 'detached' })
    await previewRules()
    await page.getByRole('alert').waitFor()
    assert.equal(await tags.getAttribute('aria-invalid'), 'true')
    await tags.fill('v*')
    await previewRules()
    await doomed.waitFor()
    await tags.fill('not/a/tag')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
    await tags.fill('v*')
    await previewRules()
    await doomed.waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    assert.equal(await tags.getAttribute('aria-invalid'), 'false')
    assert.deepEqual(
      stage.problems.splice(0).filter((text) => !text.includes('status of 400')),
      [],
    )
    await page.getByLabel('Delete images without a tag after').fill('14')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('All tags like v* are kept.').waitFor()
    await page.getByText('Images without a tag are deleted after 14 days.').waitFor()
    assert.equal(await page.getByRole('link', { name: 'nightly-2' }).count(), 1, 'nothing is deleted at once')
    await page.getByRole('link', { name: 'Delete repo' }).click()
    await page.getByText(/3 tags: .*nightly-2/).waitFor()
    noProblems()
  })

  test('retention can be changed only by a person who may also delete tags and images', async () => {
    const repo = (await stage.call('POST', `/registry/v2beta1/repos/${organization}`, { name: 'guarded' }))
      .uid as string
    const role = await stage.call('POST', `/iam/v2beta1/roles/${organization}`, {
      ...{ name: 'repo-editor', capabilities: ['CAP_REPO_UPDATE', 'CAP_TAG_DELETE'] },
    })
    const { identity } = await stage.platform.addUser('editor@example.com')
    await stage.platform.bind(identity, 'console_viewer', organization)
    await stage.call('POST', `/iam/v2beta1/roleBindings/${organization}`, {
      ...{ identityUid: identity, roleUid: role.uid as string },
    })
    const page = await stage.openPage(identity)
    await page.goto(stage.at(paths.repo(organization, repo)))
    await page.getByRole('link', { name: 'Change repo' }).waitFor()
    const change = page.getByRole('button', { name: 'Change retention', disabled: true })
    assert.match((await change.getAttribute('title')) ?? '', /^You need the capability manifest\.delete/)
    await page.context().close()
    noProblems()
  })

  test('a readme is rendered without running scripts or loading anything', async () => {
    const { page } = stage
    const repo = (await stage.call('POST', `/registry/v2beta1/repos/${organization}`, { name: 'documented' }))
      .uid as string
    // The server refuses some of these texts; the console must not rely on that.
    let content = ''
    await page.route('**/readme', (route) => route.fulfill({ json: { uid: repo, content } }))
    const show = async (text: string) => {
      content = text
      await page.goto(stage.at(paths.repo(organization, repo)))
    }
    await show(
      [
        ...['# Use', '', 'Run **it** with `app` &lt;now&gt;.', '', '| a | b |', '|---|---|', '| 1 | 2 |', ''],
        ...['- [x] done', '- [docs](https://example.com/docs)', '', '```', 'docker run app', '```', ''],
        ...[
          '![logo](https://example.com/logo.png) <b onclick=alert(1)>bold</b> [mail](mailto:a@example.com)',
          '',
        ],
        ...[
          '[a](javascript:alert(1)) [b](data:text/html,x) [c](JaVaScRiPt:alert(1)) [d](/console/) [e](vbscript:x)',
          '[f](&#106;avascript:alert(1)) [g](&#x6A;avascript:alert(1)) [h](java&#9;script:alert(1)) ![i](&#106;avascript:x)',
          '',
          '[search](https://example.com/?a=1&amp;b=2) ![R&amp;D](https://example.com/rd.png)',
          '',
        ],
        ...['0. first', '1. second', '', '- [ ] open', ''],
        '[![badge](https://example.com/badge.svg) ![](https://example.com/b.svg)](https://example.com/build)',
      ].join('\n'),
    )
    await page.getByRole('heading', { name: 'Use' }).waitFor()
    await page.getByText('<now>.').waitFor()
    const links = page.locator('.markdown a')
    const attributes = ['href', 'rel', 'target'] as const
    const found = await links.evaluateAll((all) => all.map((each) => each.getAttribute('href')))
    assert.deepEqual(found, [
      ...['https://example.com/docs', 'https://example.com/logo.png', 'mailto:a@example.com'],
      ...['https://example.com/?a=1&b=2', 'https://example.com/rd.png', 'https://example.com/build'],
    ])
    assert.deepEqual((await links.allInnerTexts()).slice(-2), ['R&D', 'badge image'])
    assert.deepEqual(await Promise.all(attributes.map((name) => links.first().getAttribute(name))), [
      'https://example.com/docs',
      'noopener noreferrer nofollow',
      '_blank',
    ])
    assert.equal(await page.locator('.markdown :is(img, b, script, iframe)').count(), 0)
    assert.equal(await page.locator('.markdown ol').getAttribute('start'), '0')
    assert.deepEqual(await page.locator('.markdown ul > li').allInnerTexts(), ['☑ done', 'docs', '☐ open'])
    await checkShown(page, 'a readme')

    await show('***\n'.repeat(5001))
    await page.getByText('The text is shortened.').waitFor()
    assert.equal(await page.locator('.markdown hr').count(), 5000)

    // The parser throws if a text has thousands of levels.
    const started = page.waitForEvent('worker')
    await show('> '.repeat(8000))
    await (await started).waitForEvent('close')
    await page.locator('.readme').getByText('> > >').waitFor()
    await page.unroute('**/readme')
    noProblems()
  })

  test('a readme for which the Markdown parser takes minutes does not block the page', async () => {
    const page = await stage.openPage()
    const repo = (
      await stage.call('POST', `/registry/v2beta1/repos/${organization}`, { name: 'slow-readme' })
    ).uid as string
    const content = `${'*'.repeat(65_535)}a`
    await page.route('**/readme', (route) => route.fulfill({ json: { uid: repo, content } }))
    await page.clock.install()
    const started = page.waitForEvent('worker')
    await page.goto(stage.at(paths.repo(organization, repo)))
    const worker = await started
    await page.getByText(content).waitFor()
    await page.getByRole('link', { name: 'Delete repo' }).click()
    await page.getByRole('dialog').waitFor()
    const stopped = page.workers().includes(worker) ? worker.waitForEvent('close') : undefined
    await page.clock.fastForward(5000)
    await stopped
    await page.getByText(content).waitFor()
    await page.context().close()
    noProblems()
  })

  test('a pull token shows its login once, and is revoked', async () => {
    const { page } = stage
    // Repos of the same name are told apart by their groups.
    const group = await stage.call('POST', `/iam/v2beta1/groups/${organization}`, { name: 'edge' })
    for (const parent of [organization, group.uid])
      await stage.call('POST', `/registry/v2beta1/repos/${parent}`, { name: 'twin' })
    await page.goto(stage.at(`${paths.pullTokens(organization)}?dialog=create`))
    const twins = page.getByLabel('Pulls from').locator('option', { hasText: 'twin' })
    await twins.getByText('twin in edge', { exact: true }).waitFor({ state: 'attached' })
    assert.deepEqual((await twins.allInnerTexts()).sort(), ['twin', 'twin in edge'])
    await page.getByLabel('Name', { exact: true }).fill('cluster')
    await page.getByRole('button', { name: 'Create pull token' }).click()
    const command = await page.getByLabel('login command', { exact: true }).innerText()
    assert.match(command, /^docker login \S+ --username \S+ --password \S{20,}$/)
    await checkShown(page, 'a new pull token')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'cluster' }).click()
    await page.getByText('all repos in its group and below').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Actions for cluster' }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke pull token' }).click()
    await page.getByRole('heading', { name: 'No pull tokens' }).waitFor()
    noProblems()
  })

  test('pull tokens can be created and revoked only by a person who may also change role bindings', async () => {
    await stage.call('POST', `/registry/v2beta1/pullTokens/${organization}`, { name: 'kept', ttl: '3600s' })
    const role = await stage.call('POST', `/iam/v2beta1/roles/${organization}`, {
      name: 'identity-keeper',
      capabilities: ['CREATE', 'LIST', 'DELETE'].map((action) => `CAP_IAM_IDENTITY_${action}`),
    })
    const { identity } = await stage.platform.addUser('keeper@example.com')
    await stage.platform.bind(identity, 'console_viewer', organization)
    await stage.call('POST', `/iam/v2beta1/roleBindings/${organization}`, {
      ...{ identityUid: identity, roleUid: role.uid as string },
    })
    const page = await stage.openPage(identity)
    await page.goto(stage.at(paths.pullTokens(organization)))
    const create = page.getByRole('button', { name: 'New pull token', disabled: true })
    const reason = /^You need the capability role_bindings\.(create|delete)/
    assert.match((await create.getAttribute('title')) ?? '', reason)
    await page.getByRole('button', { name: 'Actions for kept' }).click()
    const revoke = page.getByRole('menuitem', { name: 'Revoke', disabled: true })
    assert.match((await revoke.getAttribute('title')) ?? '', reason)
    await page.context().close()
    noProblems()
  })

  test('an advisory has a timeline, and is exported alone and with all others', async () => {
    const { page } = stage
    const add = (artifactName: string, advisoryId: string, events: object[]) =>
      stage.call('POST', '/vulnerabilities/v1/advisories', {
        parentId: organization,
        advisory: {
          ...{ artifactName, artifactType: 'apk', advisoryId, aliases: ['CVE-2026-10001'] },
          events: events.map((event, at) => ({
            ...{ timestamp: `2026-01-0${at + 1}T00:00:00Z`, status: 'APPROVED', author: 'scanner', ...event },
          })),
        },
      })
    await add('openssl', 'CGA-gggg-gggg-gggg', [
      { detection: { manual: {} } },
      { fixed: { fixedVersion: '3.0.1' } },
    ])
    await add('curl', 'CGA-hhhh-hhhh-hhhh', [{ detection: { manual: {} } }])
    await add('zlib', 'CGA-jjjj-jjjj-jjjj', [{ detection: { manual: {} }, status: 'PENDING' }])
    await checkPage(stage, paths.advisories(organization), 'Advisories')
    await page.getByRole('row', { name: /zlib Not approved/ }).waitFor()
    const exported = await Promise.all([
      page.waitForEvent('download'),
      page
        .getByRole('button', { name: 'Export these advisories' })
        .click()
        .then(() => page.getByRole('menuitem', { name: /^OSV/ }).click()),
    ])
    const lines = await textOf(exported[0])
    assert.equal(lines.trim().split('\n').length, 3, lines)
    assert.equal(exported[0].suggestedFilename(), 'advisories.osv.jsonl')

    await page.getByLabel('Status').selectOption({ label: 'Fixed' })
    await page.getByRole('row', { name: /curl/ }).waitFor({ state: 'detached' })
    const command = page.getByLabel('stemma command', { exact: true })
    assert.match((await command.textContent()) ?? '', / --latest-event-type fixed$/)
    await page.getByRole('link', { name: 'CGA-gggg-gggg-gggg' }).click()
    await page.getByText('in 3.0.1').waitFor()
    const others = page.getByRole('table', { name: 'Other packages with this vulnerability' })
    await others.getByRole('row', { name: 'curl CGA-hhhh-hhhh-hhhh Detected' }).waitFor()
    await checkShown(page, 'an advisory')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download OpenVEX' }).click(),
    ])
    assert.match(JSON.parse(await textOf(download))['@context'], /openvex/)
    noProblems()
  })
})

async function textOf(download: Download): Promise<string> {
  return readFile(await download.path(), 'utf8')
}
