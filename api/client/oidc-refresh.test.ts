import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refreshWithOidc } from './oidc-refresh.ts'

test('a refresh sends the headers of the options, and requires a valid base URL', async () => {
  const sent: [url: unknown, headers: HeadersInit | undefined][] = []
  const fetch = async (url: unknown, init?: RequestInit) => {
    sent.push([url, init?.headers])
    return Response.json({ access_token: 'a', expires_in: 60 })
  }
  const headers = { 'x-proxy': 'secret' }
  const { refreshToken } = await refreshWithOidc({ baseUrl: 'http://a/', fetch, headers }, 'stemma', 'r')
  assert.equal(refreshToken, 'r')
  assert.deepEqual(sent, [['http://a/oauth/token', headers]])
  await assert.rejects(refreshWithOidc({ baseUrl: 'http://a?', fetch }, 'stemma', 'r'), /baseUrl must be/)
})

test('a refused refresh has the reason that the server gives', async () => {
  const answers = [
    [{ error: 'invalid_client', error_description: 'client is unknown' }, 'client is unknown'],
    [{ error: 'temporarily_unavailable' }, 'temporarily_unavailable'],
    [{}, 'the server answered with HTTP 400'],
  ] as const
  for (const [body, message] of answers) {
    const fetch = async () => Response.json(body, { status: 400 })
    await assert.rejects(refreshWithOidc({ baseUrl: 'http://a', fetch }, 'stemma', 'r'), { message })
  }
})
