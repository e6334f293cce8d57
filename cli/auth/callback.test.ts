import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { openCallback } from './callback.ts'

test('does not wait for ever', async () => {
  const { outcome, close } = await openCallback('s', 0, async () => 'never')
  await assert.rejects(outcome, /nobody signed in within 0 minutes; start again/)
  close()
})

test('redeems an answer that comes twice once, and shows both the outcome', async () => {
  let count = 0
  const { redirectUri, outcome, close } = await openCallback('s', 1, async (url) => {
    count += 1
    return url.searchParams.get('code')
  })
  const pages = await Promise.all([1, 2].map(() => fetch(`${redirectUri}?state=s&code=c`)))
  assert.deepEqual(
    pages.map(({ status }) => status),
    [200, 200],
  )
  assert.equal(await outcome, 'c')
  assert.equal(count, 1)
  close()
})

test('tells what went wrong as text, to nobody but the reader', async () => {
  const { redirectUri, outcome, close } = await openCallback('s', 1, () =>
    Promise.reject(new Error('<script>')),
  )
  const failed = assert.rejects(outcome, /<script>/)
  const page = await fetch(`${redirectUri}?state=s`)
  assert.equal(page.status, 400)
  assert.match(await page.text(), /You are not signed in: &lt;script>\./)
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
  await failed
  close()
})

test('outlives what is no address, and ends with connections that say nothing', async () => {
  const { redirectUri, close } = await openCallback('s', 1, async () => undefined)
  const { port } = new URL(redirectUri)
  const ask = (line: string) =>
    new Promise<string>((resolve, reject) => {
      let heard = ''
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(line))
      socket.setEncoding('utf8').on('data', (chunk) => {
        heard += chunk
      })
      socket.on('close', () => resolve(heard)).on('error', reject)
    })
  assert.match(await ask('GET // HTTP/1.1\r\nhost: x\r\n\r\n'), /^HTTP\/1\.1 404 /)
  const answer = 'GET http://elsewhere/callback?state=s HTTP/1.1\r\nhost: x\r\n\r\n'
  assert.match(await ask(answer), /^HTTP\/1\.1 404 /)
  const silent = ask('')
  assert.equal((await fetch(redirectUri)).status, 400)
  close()
  assert.equal(await silent, '')
})
