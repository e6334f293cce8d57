// docs/specification.md, Roles and bindings (AuthZEN): the certification scenario on resources of Stemma, and other rules.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { Fixture, Json } from './authzen-scenario.ts'
import * as scenario from './authzen-scenario.ts'

const { alice, bob, read, write, record1, record2, mapped } = scenario

type Answer = { status: number; headers: Headers; json: Json }
type Decision = { decision: boolean; context?: { reason?: string; error?: { status: number } } }
type Found = { results: Json[]; page: { next_token: string; count: number; total: number } }

onEachStore('AuthZEN', (engine) => {
  let platform: Platform
  let fixture: Fixture

  before(async () => {
    platform = await startPlatform(engine, ['--base-url', 'https://stemma.test'])
    const { organization, token } = platform.owner
    const door = restDoor(platform.url)
    const makeRepo = async (name: string) => {
      const { body } = await door.call(
        ReposService.method.createRepo,
        { parent: organization, repo: { name } },
        token,
      )
      return body?.uid as string
    }
    const [editor, viewer] = [
      await platform.addIdentity(organization, 'editor'),
      await platform.addIdentity(organization, 'viewer'),
    ]
    fixture = {
      ...{ alice: editor.identity, bob: viewer.identity },
      ...{ record1: await makeRepo('record-1'), record2: await makeRepo('record-2') },
      nobody: `${organization}/${'0'.repeat(16)}`,
    }
    door.close()
  })
  after(() => platform.stop())

  async function send(path: string, init: RequestInit, token = platform.owner.token): Promise<Answer> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...init.headers }
    const response = await fetch(`${platform.url}${path}`, { method: 'POST', ...init, headers })
    return { status: response.status, headers: response.headers, json: (await response.json()) as Json }
  }
  const post = (path: string, body: Json, token?: string) =>
    send(path, { body: JSON.stringify(mapped(body, fixture)) }, token)
  const search = (kind: string, body: Json, token?: string) => post(`/access/v1/search/${kind}`, body, token)

  describe('Basic Core', () => {
    for (const { name, body, decision } of scenario.evaluations)
      test(`${name} (${decision})`, async () => {
        const { status, headers, json } = await post('/access/v1/evaluation', body)
        assert.equal(status, 200)
        assert.equal(headers.get('content-type'), 'application/json')
        assert.equal((json as Decision).decision, decision)
        if (decision) assert.deepEqual(json, { decision })
        else assert.match((json as Decision).context?.reason ?? '', /repo\.update/)
      })

    test('missing and ill-typed fields are a bad request, with a message', async () => {
      for (const body of scenario.faultyEvaluations) {
        const { status, json } = await post('/access/v1/evaluation', body)
        assert.equal(status, 400, JSON.stringify(body))
        assert.match(json as string, /^(subject|action|resource)(\.(type|id|name))?: (is required|must be )/)
      }
    })

    test('another content type, malformed JSON and an empty body are bad requests', async () => {
      const body = JSON.stringify(mapped(scenario.evaluations[0]?.body ?? {}, fixture))
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx']) {
        const { status } = await send('/access/v1/evaluation', { body, headers: { 'content-type': type } })
        assert.equal(status, 400, type)
      }
      for (const text of ['{', 'null', '[]', '"text"', '', ' '])
        assert.equal((await send('/access/v1/evaluation', { body: text })).status, 400, text)
      const type = { 'content-type': 'application/json; charset=utf-8' }
      assert.equal((await send('/access/v1/evaluation', { body, headers: type })).status, 200)
    })

    test('X-Request-ID is echoed as it was sent, also with an error', async () => {
      const body = JSON.stringify(mapped(scenario.evaluations[0]?.body ?? {}, fixture))
      for (const id of ['bfe9eb29-ab87-4ca3-be83-a1d5d8305716', 'any text: "1/2" = {\\}'])
        for (const content of [body, '{']) {
          const answer = await send('/access/v1/evaluation', {
            body: content,
            headers: { 'x-request-id': id },
          })
          assert.equal(answer.headers.get('x-request-id'), id)
        }
      assert.ok((await send('/access/v1/evaluation', { body })).headers.get('x-request-id'))
    })

    test('the same request always gets the same decision', async () => {
      for (let at = 0; at < 3; at++) {
        const { json } = await post('/access/v1/evaluation', {
          subject: bob,
          action: write,
          resource: record1,
        })
        assert.equal((json as Decision).decision, false)
      }
    })
  })

  describe('Batch Core', () => {
    for (const { name, body, decisions } of scenario.batches)
      test(name, async () => {
        const { status, json } = await post('/access/v1/evaluations', body)
        assert.equal(status, 200)
        const { evaluations } = json as { evaluations: Decision[] }
        assert.equal(evaluations.length, decisions.length)
        for (const [at, { decision }] of evaluations.entries()) {
          assert.equal(typeof decision, 'boolean')
          assert.equal(decision, decisions[at] ?? decision)
        }
        assert.equal('decision' in (json as object), false)
      })

    test('without evaluations, the request is a single evaluation', async () => {
      for (const body of scenario.singles)
        assert.deepEqual((await post('/access/v1/evaluations', body)).json, { decision: true })
      assert.equal((await post('/access/v1/evaluations', { subject: alice, action: read })).status, 400)
    })

    test('evaluations_semantic can end the results at the first denial, or at the first permission', async () => {
      const decisionsWith = async (semantic: string, actions: Json[]) => {
        const { json } = await post('/access/v1/evaluations', {
          ...{ subject: bob, resource: record1, options: { evaluations_semantic: semantic } },
          evaluations: actions.map((action) => ({ action })),
        })
        return (json as { evaluations: Decision[] }).evaluations.map(({ decision }) => decision)
      }
      assert.deepEqual(await decisionsWith('execute_all', [read, write, read]), [true, false, true])
      assert.deepEqual(await decisionsWith('deny_on_first_deny', [read, write, read]), [true, false])
      assert.deepEqual(await decisionsWith('deny_on_first_deny', [read, read]), [true, true])
      assert.deepEqual(await decisionsWith('deny_on_first_deny', [read, 'faulty', read]), [true, false])
      assert.deepEqual(await decisionsWith('permit_on_first_permit', [write, read, write]), [false, true])
      assert.deepEqual(await decisionsWith('permit_on_first_permit', [write, 'faulty']), [false, false])
    })
  })

  describe('Search Core', () => {
    for (const { name, kind, body, results } of scenario.searches)
      test(`${name}: ${kind}`, async () => {
        const { status, json } = await search(kind, body)
        assert.equal(status, 200)
        const found = new Set((json as Found).results.map((result) => JSON.stringify(result)))
        for (const result of results) assert.ok(found.has(JSON.stringify(mapped(result, fixture))), name)
        assert.equal(found.size, (json as Found).results.length)
        assert.deepEqual((json as Found).page, { next_token: '', count: found.size, total: found.size })
      })

    test('an unknown id or type has no results', async () => {
      for (const { kind, body } of scenario.emptySearches) {
        const { status, json } = await search(kind, body)
        assert.equal(status, 200, JSON.stringify(body))
        assert.deepEqual((json as Found).results, [], JSON.stringify(body))
      }
    })

    test('missing fields are a bad request', async () => {
      for (const { kind, body } of scenario.faultySearches)
        assert.equal((await search(kind, body)).status, 400, JSON.stringify(body))
    })

    test('pages contain every result once', async () => {
      for (const { kind, body } of scenario.searches) {
        const whole = (await search(kind, body)).json as Found
        const limit = Math.ceil(whole.results.length / 3)
        const first = (await search(kind, { ...body, page: { limit } })).json as Found
        assert.deepEqual([first.page.count, first.page.total], [limit, whole.results.length])
        const results = [...first.results]
        let token = first.page.next_token
        while (token !== '') {
          const { json } = await search(kind, { ...body, page: { limit, token } })
          results.push(...(json as Found).results)
          token = (json as Found).page.next_token
        }
        assert.deepEqual(results, whole.results)
        const rest = (await search(kind, { ...body, page: { token: first.page.next_token } })).json as Found
        assert.deepEqual(rest.results, whole.results.slice(limit), 'the limit may be left out')
      }
    })

    test('a page token is refused with another search', async () => {
      const [{ body } = { body: {} }] = scenario.searches
      const { page } = (await search('subject', { ...body, page: { limit: 1 } })).json as Found
      const other = await search('subject', { ...body, action: write, page: { token: page.next_token } })
      assert.equal(other.status, 400)
      assert.match(other.json as string, /^page\.token: /)
      const action = await search('action', { subject: bob, resource: record2, page: { token: 'x' } })
      assert.deepEqual([action.status, /^page\.token: /.test(action.json as string)], [400, true])
    })

    test('every result of a search is permitted when it is evaluated', async () => {
      const actions = (await search('action', { subject: bob, resource: record2 })).json as Found
      const { json } = await post('/access/v1/evaluations', {
        ...{ subject: bob, resource: record2 },
        evaluations: actions.results.map((action) => ({ action })),
      })
      const { evaluations } = json as { evaluations: Decision[] }
      assert.ok(evaluations.length > 20 && evaluations.every(({ decision }) => decision))
    })
  })

  test('Discovery: the metadata names every endpoint', async () => {
    const response = await fetch(`${platform.url}/.well-known/authzen-configuration`)
    assert.equal(response.headers.get('content-type'), 'application/json')
    const base = 'https://stemma.test'
    assert.deepEqual(await response.json(), {
      policy_decision_point: base,
      access_evaluation_endpoint: `${base}/access/v1/evaluation`,
      access_evaluations_endpoint: `${base}/access/v1/evaluations`,
      search_subject_endpoint: `${base}/access/v1/search/subject`,
      search_resource_endpoint: `${base}/access/v1/search/resource`,
      search_action_endpoint: `${base}/access/v1/search/action`,
    })
  })
})
