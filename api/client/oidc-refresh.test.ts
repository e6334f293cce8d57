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
