// Attacks on the AuthZEN door: requests that no client sends, and questions that the caller may not ask.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

const evaluation = '/access/v1/evaluation'
const evaluations = '/access/v1/evaluations'
const searchOf = (kind: string) => `/access/v1/search/${kind}`

onEachStore('the AuthZEN door', (engine) => {
  let platform: Platform
  let stranger: TestIdentity
  let viewer: TestIdentity
  let repo: string

  before(async () => {
    platform = await sharedPlatform(engine)
    const { organization, token } = platform.owner
    stranger = await platform.addOrganization('other')
    viewer = await platform.addIdentity(organization, 'viewer')
    const door = restDoor(platform.url)
    const request = { parent: organization, repo: { name: 'secret' } }
    repo = (await door.call(ReposService.method.createRepo, request, token)).body?.uid as string
    door.close()
  })
  after(() => platform.stop())

  async function send(path: string, body: unknown, token: string | undefined = platform.owner.token) {
    const response = await fetch(platform.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token !== '' && { authorization: `Bearer ${token}` }),
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: response.status, headers: response.headers, json: await response.json() }
  }

  const identity = (id: string) => ({ type: 'identity', id })
  const question = (id = viewer.identity) => ({
    ...{ subject: identity(id), action: { name: 'repo.list' }, resource: { type: 'repo', id: repo } },
  })

  test('authenticates before it reads a body', async () => {
    for (const path of [evaluation, evaluations, ...['subject', 'resource', 'action'].map(searchOf)])
      for (const body of [question(), '{', '']) {
        const { status, headers, json } = await send(path, body, '')
        assert.equal(status, 401)
        assert.match(headers.get('www-authenticate') ?? '', /^Bearer realm="http:\/\/stemma\.test"/)
        assert.equal(typeof json, 'string')
      }
  })

  test('refuses questions about other identities if the caller may not ask them, whether or not the resource exists', async () => {
    for (const id of [repo, `${platform.owner.organization}/${'0'.repeat(16)}`]) {
      const asked = { ...question(), resource: { type: 'repo', id } }
      for (const [path, body] of [
        [evaluation, asked],
        [evaluations, { evaluations: [asked] }],
        [searchOf('subject'), { ...asked, subject: { type: 'identity' } }],
        [searchOf('action'), { subject: asked.subject, resource: asked.resource }],
      ] as const) {
        const { status, json } = await send(path, body, stranger.token)
        assert.equal(status, 403, path)
        assert.equal(json, `role_bindings.list denied on resource ${id} (or it might not exist)`)
      }
    }
  })

  test('finds no resources that the caller may not list or may not ask about', async () => {
    const repos = async (subject: string, token: string, action = 'repo.list') => {
      const body = { ...question(subject), action: { name: action }, resource: { type: 'repo' } }
      const { json } = await send(searchOf('resource'), body, token)
      return (json as { results: { id: string }[] }).results.map(({ id }) => id)
    }
    assert.deepEqual(await repos(viewer.identity, platform.owner.token), [repo])
    assert.deepEqual(await repos(viewer.identity, viewer.token), [repo])
    assert.deepEqual(await repos(viewer.identity, stranger.token), [])
    const pusher = await platform.addIdentityWith(platform.owner.organization, ['CAP_REPO_UPDATE'])
    assert.deepEqual(await repos(pusher.identity, platform.owner.token, 'repo.update'), [repo])
    assert.deepEqual(await repos(pusher.identity, pusher.token, 'repo.update'), [])
  })

  test('respects the limits of a token in answers about its holder', async () => {
    const door = restDoor(platform.url)
    const request = { identity: viewer.identity, cap: ['groups.list'] }
    const { body } = await door.call(SecurityTokenService.method.exchange, request, viewer.token)
    door.close()
    const token = body?.token as string
    const { json } = await send(evaluation, question(), token)
    assert.equal((json as { decision: boolean }).decision, false)
    const found = await send(
      searchOf('action'),
      { subject: identity(viewer.identity), resource: question().resource },
      token,
    )
    assert.deepEqual((found.json as { results: unknown }).results, [{ name: 'groups.list' }])
  })

  test('a batch has at most 1000 evaluations, and its faulty ones are denied', async () => {
    const asked = question()
    const batch = (length: number, item: unknown) => ({
      ...asked,
      evaluations: Array<unknown>(length).fill(item),
    })
    assert.equal((await send(evaluations, batch(1001, {}))).status, 400)
    const { status, json } = await send(evaluations, batch(1000, {}))
    assert.equal(status, 200)
    const decisions = (json as { evaluations: { decision: boolean }[] }).evaluations
    assert.ok(decisions.length === 1000 && decisions.every(({ decision }) => decision))
    for (const item of [
      1,
      'x',
      [],
      true,
      { subject: 7 },
      { resource: { type: 'repo' } },
      { action: { name: {} } },
    ]) {
      const faulty = await send(evaluations, batch(1, item))
      const [first] = (
        faulty.json as { evaluations: { decision: boolean; context: { error: { status: number } } }[] }
      ).evaluations
      assert.deepEqual([first?.decision, first?.context.error.status], [false, 400], JSON.stringify(item))
    }
  })

  test('hostile JSON is a bad request', async () => {
    const { subject, action, resource } = question()
    const text = (object: unknown) => JSON.stringify(object)
    const bodies = [
      `{"subject":${text(identity(platform.owner.identity))},"subject":${text(subject)},"action":${text(action)},"resource":${text(resource)}}`,
      `{"subject":{"type":"identity","id":"x","\\u0069d":"${viewer.identity}"},"action":${text(action)},"resource":${text(resource)}}`,
      `{"__proto__":${text(question())}}`,
      `{"subject":{"__proto__":${text(subject)}},"action":${text(action)},"resource":${text(resource)}}`,
      '{"constructor":{"prototype":{}}}',
      `${'{"subject":'.repeat(50_000)}1${'}'.repeat(50_000)}`,
      '['.repeat(100_000),
      text({ ...question(), context: [] }),
      text({ ...question(), subject: { ...subject, properties: 'x' } }),
      text({ ...question(), resource: [resource] }),
      text({ ...question(), subject: null }),
    ]
    for (const body of bodies) {
      const { status, json } = await send(evaluation, body)
      assert.equal(status, 400, body.slice(0, 100))
      assert.ok((json as string).length < 200)
    }
    assert.equal((await send(evaluation, `{"a":"${'x'.repeat(2 ** 20)}"}`)).status, 413)
    const search = { ...question(), subject: { type: 'identity' } }
    for (const page of [
      1,
      { limit: -1 },
      { limit: 0.5 },
      { limit: '1' },

      { token: 1 },
      { token: 'forged' },
      { properties: [] },
    ])
      assert.equal((await send(searchOf('subject'), { ...search, page })).status, 400, text(page))
    assert.equal((await send(evaluations, { ...question(), evaluations: {} })).status, 400)
    for (const options of [[], { evaluations_semantic: 'all' }, { evaluations_semantic: 1 }])
      assert.equal((await send(evaluations, { ...question(), evaluations: [{}], options })).status, 400)
  })

  test('unknown names are denied, including those of properties that every object inherits', async () => {
    const names = ['constructor', '__proto__', 'toString', '', '\ud800', 'repo.list\0', 'x'.repeat(100_000)]
    for (const name of names) {
      for (const body of [
        { ...question(), action: { name } },
        { ...question(), subject: { type: name, id: viewer.identity } },
        { ...question(), subject: identity(name) },
        { ...question(), resource: { type: name, id: repo } },
        { ...question(), resource: { type: 'repo', id: name } },
      ]) {
        const { status, json } = await send(evaluation, body)
        const { decision, context } = json as { decision: boolean; context: { reason: string } }
        assert.deepEqual([status, decision, context.reason.length < 400], [200, false, true])
      }
    }
  })

  test('only POST is accepted', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'HEAD']) {
      const response = await fetch(platform.url + evaluation, { method })
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST'])
    }
  })
})
