import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { startCallbackServer } from './callback-server.ts'

describe('the callback server', () => {
  test('fails after its timeout', async () => {
    const { result, close } = await startCallbackServer('s', 0, async () => 'never')
    await assert.rejects(result, /not completed within 0 minutes; start again/)
    close()
  })

  test('redeems a code once if the browser sends the request twice', async () => {
    let count = 0
    const { redirectUri, result, close } = await startCallbackServer('s', 1, async (url) => {
      count += 1
      return url.searchParams.get('code')
    })
    const pages = await Promise.all([1, 2].map(() => fetch(`${redirectUri}?state=s&code=c`)))
    assert.deepEqual(
      pages.map(({ status }) => status),
      [200, 200],
    )
    assert.equal(await result, 'c')
    assert.equal(count, 1)
    close()
  })

  test('shows an error as escaped text and sends no referrer', async () => {
    const { redirectUri, result, close } = await startCallbackServer('s', 1, () =>
      Promise.reject(new Error('<script>')),
    )
    const failed = assert.rejects(result, /<script>/)
    const page = await fetch(`${redirectUri}?state=s`)
    assert.equal(page.status, 400)
    assert.match(await page.text(), /You are not signed in: &lt;script>\./)
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
    await failed
    close()
  })

  test('rejects invalid requests and closes idle connections', async () => {
    const { redirectUri, close } = await startCallbackServer('s', 1, async () => undefined)
    const { port } = new URL(redirectUri)
    const send = (text: string) =>
      new Promise<string>((resolve, reject) => {
        let received = ''
        const socket = connect(Number(port), '127.0.0.1', () => socket.write(text))
        socket.setEncoding('utf8').on('data', (chunk) => {
          received += chunk
        })
        socket.on('close', () => resolve(received)).on('error', reject)
      })
    assert.match(await send('GET // HTTP/1.1\r\nhost: x\r\n\r\n'), /^HTTP\/1\.1 404 /)
    const absolute = 'GET http://elsewhere/callback?state=s HTTP/1.1\r\nhost: x\r\n\r\n'
    assert.match(await send(absolute), /^HTTP\/1\.1 404 /)
    const idle = send('')
    assert.equal((await fetch(redirectUri)).status, 400)
    close()
    assert.equal(await idle, '')
  })
})
