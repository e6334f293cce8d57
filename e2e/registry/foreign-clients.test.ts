// crane, regctl and skopeo, unchanged, against our registry. Each is tested where it is installed.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { openClient } from '../cli/client.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { startIssuer } from '../sign-in/foreign-issuer.ts'
import { startSignInPlatform } from '../sign-in/sign-in.ts'
import { foreignClient, missing } from './foreign-client.ts'
import type { OciClient } from './oci-client.ts'
import { digestOf, ociClient } from './oci-client.ts'
import type { Layout } from './oci-layout.ts'
import { writeLayout } from './oci-layout.ts'

describe('registry clients', () => {
  let platform: Platform
  let folder: string
  let layout: Layout
  let host: string
  let owner: OciClient
  let issuer: ForeignIssuer
  before(async () => {
    issuer = await startIssuer('ES256')
    platform = await startSignInPlatform('sqlite', ['--trusted-issuers', issuer.issuer])
    host = new URL(platform.url).host
    owner = ociClient(platform.url, platform.owner.token)
    folder = await mkdtemp(join(tmpdir(), 'stemma-foreign-'))
    layout = await writeLayout(join(folder, 'layout'))
  })
  after(async () => {
    await platform.stop()
    await issuer.close()
    await rm(folder, { recursive: true, force: true })
  })

  const tagsOf = async (name: string) =>
    ((await (await owner.expect(200, 'GET', `/v2/${name}/tags/list`)).json()) as { tags: string[] }).tags

  test('crane pushes, pulls, copies, lists and deletes', { skip: missing('crane') }, async () => {
    const { run } = await foreignClient('crane', join(folder, 'crane'))
    const image = `${host}/acme/crane`
    await assert.rejects(run(['digest', `${image}:v1`]), /UNAUTHORIZED|DENIED/)
    await run(['auth', 'login', host, '-u', '_token', '--password-stdin'], platform.owner.token)
    await run(['push', layout.folder, `${image}:v1`])
    assert.equal(await run(['digest', `${image}:v1`]), layout.index)
    assert.equal(await run(['digest', '--platform', 'linux/arm64', `${image}:v1`]), layout.images[1])
    await run(['validate', '--remote', `${image}:v1`])
    await run(['pull', '--format', 'oci', `${image}:v1`, 'pulled'])
    assert.equal((await readdir(join(folder, 'crane/pulled/blobs/sha256'))).length, 8)
    await run(['copy', `${image}:v1`, `${host}/acme/copied:v1`])
    await run(['tag', `${image}:v1`, 'v2'])
    assert.deepEqual((await run(['ls', image])).split('\n'), ['v1', 'v2'])
    await run(['delete', `${image}:v2`])
    assert.deepEqual(await tagsOf('acme/crane'), ['v1'])
    await run(['delete', `${host}/acme/copied@${layout.index}`])
    assert.deepEqual(await tagsOf('acme/copied'), [])
    await assert.rejects(run(['manifest', `${host}/acme/missing:v1`]), /NAME_UNKNOWN|DENIED/)
  })

  test('regctl also attaches artifacts, and copies them with their image', {
    skip: missing('regctl'),
  }, async () => {
    const { run } = await foreignClient('regctl', join(folder, 'regctl'))
    const image = `${host}/acme/regctl`
    await run(['registry', 'set', host, '--tls', 'disabled', '--skip-check'])
    await run(['registry', 'login', host, '-u', '_token', '--pass-stdin'], platform.owner.token)
    await run(['image', 'copy', `ocidir://${layout.folder}:v1`, `${image}:v1`])
    assert.equal(await run(['manifest', 'head', `${image}:v1`]), layout.index)
    assert.equal(await run(['image', 'digest', '--platform', 'linux/arm64', `${image}:v1`]), layout.images[1])
    const put = ['artifact', 'put', '--artifact-type', 'application/spdx+json', '--subject', `${image}:v1`]
    await run(put, '{}')
    assert.match(
      await run(['artifact', 'tree', `${image}:v1`]),
      /Referrers:\n +- sha256:\w+: application\/spdx\+json/,
    )
    const ofType = (type: string) => run(['artifact', 'list', `${image}:v1`, '--filter-artifact-type', type])
    assert.match(await ofType('application/spdx+json'), /Digest: +sha256:/)
    assert.doesNotMatch(await ofType('application/other'), /Digest: +sha256:/)
    await run(['image', 'copy', '--referrers', `${image}:v1`, `${host}/acme/regctl-copy:v1`])
    assert.match(
      await run(['artifact', 'list', `${host}/acme/regctl-copy:v1`]),
      /ArtifactType: +application\/spdx\+json/,
    )
    await run(['image', 'export', `${image}:v1`, 'image.tar'])
    await run(['image', 'mod', `${image}:v1`, '--create', 'changed', '--label', 'a=b'])
    assert.deepEqual((await run(['tag', 'ls', image])).split('\n'), ['changed', 'v1'])
    await run(['tag', 'delete', `${image}:changed`])
    await run(['manifest', 'delete', '--force-tag-dereference', `${host}/acme/regctl-copy:v1`])
    assert.deepEqual([await tagsOf('acme/regctl'), await tagsOf('acme/regctl-copy')], [['v1'], []])
  })

  test('skopeo copies to and from other forms of images', { skip: missing('skopeo') }, async () => {
    const { run } = await foreignClient('skopeo', join(folder, 'skopeo'))
    const image = `docker://${host}/acme/skopeo`
    const insecure = '--tls-verify=false'
    const copy = (...args: string[]) =>
      run(['--insecure-policy', 'copy', '--src-tls-verify=false', '--dest-tls-verify=false', ...args])
    await run(['login', insecure, '-u', '_token', '--password-stdin', host], platform.owner.token)
    await copy('--all', `oci:${layout.folder}:v1`, `${image}:v1`)
    assert.equal(digestOf(await run(['inspect', '--raw', insecure, `${image}:v1`])), layout.index)
    await copy('--all', `${image}:v1`, `docker://${host}/acme/skopeo-copy:v1`)
    await copy('--format', 'v2s2', '--override-arch', 'arm64', `${image}:v1`, `${image}:docker`)
    const { Architecture } = JSON.parse(await run(['inspect', insecure, `${image}:docker`]))
    assert.equal(Architecture, 'arm64')
    await copy(`${image}:docker`, `dir:${join(folder, 'skopeo/dir')}`)
    const { Tags } = JSON.parse(await run(['list-tags', insecure, image]))
    assert.deepEqual(Tags, ['docker', 'v1'])
    await run(['delete', insecure, `${image}:docker`])
    assert.deepEqual(await tagsOf('acme/skopeo'), ['v1'])
    await run(['logout', host])
    await assert.rejects(run(['inspect', insecure, `${image}:v1`]), /unauthorized|authentication required/)
  })

  /** An identity of a CI system that may push. */
  async function addRobot(): Promise<string> {
    const { organization, token } = platform.owner
    const claimMatch = { issuer: issuer.issuer, subject: 'robot' }
    const identity = { name: 'ci', claimMatch }
    const request = { parent: organization, identity }
    const { body } = await restDoor(platform.url).call(
      IdentitiesService.method.createIdentity,
      request,
      token,
    )
    const uid = body?.uid as string
    await platform.bind(uid, 'registry.push', organization)
    return uid
  }

  test('push with the token of a CI system, and with the credential helper', {
    skip: missing('crane'),
  }, async () => {
    const robot = await addRobot()
    const image = `${host}/acme/ci:v1`
    const idToken = () => issuer.sign({ sub: 'robot', aud: platform.url })
    const ci = await foreignClient('crane', join(folder, 'ci'))
    await ci.run(['auth', 'login', host, '-u', robot, '--password-stdin'], await idToken())
    await ci.run(['push', layout.folder, image])
    assert.equal(await ci.run(['digest', image]), layout.index)

    const client = await openClient('inline')
    try {
      const programs = join(client.home, 'bin')
      await mkdir(programs)
      const launcher = join(import.meta.dirname, '../../cli/bin/stemma.mjs')
      await symlink(launcher, join(programs, 'docker-credential-stemma'))
      const login = ['auth', 'login', '--api', platform.url, '--identity', robot, '--identity-token', '-']
      assert.equal((await client.run(login, await idToken())).code, 0)
      const configured = await client.run(['registry', 'configure-docker'], '', { PATH: programs })
      assert.equal(configured.code, 0, configured.stderr)
      const env = {
        ...{ XDG_CACHE_HOME: join(client.home, 'cache'), XDG_CONFIG_HOME: join(client.home, 'config') },
      }
      const withHelper = await foreignClient('crane', client.home, { programs, env })
      await withHelper.run(['push', layout.folder, `${host}/acme/helper:v1`])
      assert.equal(await withHelper.run(['digest', `${host}/acme/helper:v1`]), layout.index)
      assert.equal((await client.run(['registry', 'logout'])).code, 0)
      await assert.rejects(withHelper.run(['digest', image]), /UNAUTHORIZED|DENIED/)
    } finally {
      await client.remove()
    }
  })

  test('pull with a pull token, until it is deleted', { skip: missing('crane') }, async () => {
    const image = `${host}/acme/pulled:v1`
    await owner.pushImage('acme/pulled', 'v1', 'layer')
    const client = await openClient('inline')
    try {
      const env = { STEMMA_API: platform.url, STEMMA_TOKEN: platform.owner.token }
      const create = ['pull-tokens', 'create', '--parent', 'acme', '--name', 'cluster', '-o', 'json']
      const created = await client.run(create, '', env)
      const { uid, username, password } = JSON.parse(created.stdout)
      const { run } = await foreignClient('crane', join(folder, 'cluster'))
      await run(['auth', 'login', host, '-u', username, '--password-stdin'], password)
      assert.match(await run(['digest', image]), /^sha256:/)
      await assert.rejects(run(['push', layout.folder, `${host}/acme/pulled:v2`]), /UNAUTHORIZED|DENIED/)
      assert.equal((await client.run(['pull-tokens', 'delete', uid, '--yes'], '', env)).code, 0)
      await assert.rejects(run(['digest', image]), /UNAUTHORIZED|DENIED/)
    } finally {
      await client.remove()
    }
  })
})
