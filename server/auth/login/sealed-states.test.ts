import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { makeSecret, sealText } from '../../crypto/secret.ts'
import type { PageRequest } from './page-request.ts'
import { pageRequestOf } from './page-request.ts'
import { openSealedStates } from './sealed-states.ts'

const sealer = makeSecret('a secret', randomBytes).sealerFor('test')
const [kind, id] = ['Session', 'an-id']

/** The states of a browser that sends these cookies. */
function statesOf(cookie: string) {
  const request = Object.assign(new IncomingMessage(new Socket()), { headers: { cookie } })
  const response = new ServerResponse(request)
  const target = { path: '/', query: '', address: '192.0.2.1' }
  const page: PageRequest = pageRequestOf(request, response, target, '')
  const deps = { sealer, authUrl: 'http://stemma.test', now: Date.now, currentPage: () => page }
  const setCookies = () => [response.getHeader('set-cookie') ?? []].flat().map(String)
  return { states: openSealedStates(deps), setCookies }
}

const seal = (payload: Record<string, unknown>) =>
  sealText(
    sealer,
    `unfinished sign-in ${kind} ${id}`,
    JSON.stringify({ payload, expires: Date.now() + 1000 }),
  )

describe('the state of a visitor', () => {
  test('is found by its kind and id', () => {
    const { states, setCookies } = statesOf('')
    states.put(kind, id, { uid: 'x' }, 60)
    const [pair = ''] = (setCookies()[0] ?? '').split(';')
    const again = statesOf(`other=1; ${pair}`).states
    assert.deepEqual(again.find(kind, id), { uid: 'x' })
    assert.equal(again.find(kind, 'another-id'), undefined)
    assert.equal(again.find('Interaction', id), undefined)
  })

  test('is refused if it is a session that would need large cookies', () => {
    const { states, setCookies } = statesOf('')
    const large = { state: 'x'.repeat(800) }
    assert.throws(() => states.put(kind, id, large, 60), { error_description: /at most 1000 characters/ })
    assert.deepEqual(setCookies(), [])
    assert.equal(statesOf(`stemma_visit0=1.${seal(large)}`).states.find(kind, id), undefined)
  })

  test('is refused if it names a person, even if the server encrypted it', () => {
    const find = (payload: Record<string, unknown>) =>
      statesOf(`stemma_visit0=1.${seal(payload)}`).states.find(kind, id)
    assert.deepEqual(find({ uid: 'x' }), { uid: 'x' })
    const accountId = 'a'.repeat(40)
    for (const payload of [{ accountId }, { result: { login: { accountId } } }, { session: { accountId } }])
      assert.equal(find(payload), undefined, JSON.stringify(payload))
  })
})
