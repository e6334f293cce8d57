import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prefersHtml } from './prefers-html.ts'

const asks = (accept: string | undefined, method = 'GET') => prefersHtml({ method, headers: { accept } })

test('browsers ask for pages', () => {
  assert.ok(asks('text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'))
  assert.ok(asks('TEXT/HTML', 'HEAD'))
  assert.ok(asks('application/json;q=0.5, text/html;q=0.9'))
})

test('programs do not ask for pages', () => {
  for (const accept of [
    undefined,
    '',
    '*/*',
    'text/*',
    'application/json',
    'application/json, text/plain, */*',
    'text/html;q=0',
    'text/html;q=nonsense',
    'text/html;q=2',
    'application/json, text/html;q=0.9',
  ])
    assert.equal(asks(accept), false, accept)
  assert.equal(asks('text/html', 'POST'), false)
})
