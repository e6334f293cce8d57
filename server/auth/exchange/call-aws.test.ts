// How responses of AWS are handled. A test server takes the place of AWS.
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { describe, test } from 'node:test'
import { testTls } from '../../testing/tls.ts'
import { AwsUnreachableError, callAwsAt } from './call-aws.ts'

/** Calls a server that answers with `answer`. After an error, resolves once the server has seen the connection close. */
async function call(answer: RequestListener) {
  const server = createServer(testTls, answer)
  const connected = new Promise<Socket>((resolve) => server.once('secureConnection', resolve))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    const endpoint = { host: 'localhost', port, ca: testTls.cert }
    const result = await callAwsAt(endpoint, { path: '/', headers: [['host', 'localhost']] }).then(
      (caller) => ({ caller }),
      (error: Error) => ({ error }),
    )
    const socket = await connected
    if ('error' in result && !socket.destroyed) await new Promise((resolve) => socket.once('close', resolve))
    return result
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe('calling AWS', () => {
  for (const connection of ['keep-alive', 'close'])
    test(`returns the caller that AWS names, from a response with "connection: ${connection}"`, async () => {
      const result = { Account: '1', Arn: 'arn:aws:iam::1:user/a', UserId: 'A' }
      const body = JSON.stringify({ GetCallerIdentityResponse: { GetCallerIdentityResult: result } })
      const answered = await call((_, response) => response.setHeader('connection', connection).end(body))
      assert.deepEqual(answered, { caller: { account: '1', arn: 'arn:aws:iam::1:user/a', userId: 'A' } })
    })

  test('fails if AWS closes the connection without a response', async () => {
    const answered = await call(({ socket }) => socket.destroy())
    assert.match(String('error' in answered && answered.error), /AWS cannot be reached/)
    // The request of the caller may be the reason, so this must count as a failed attempt of the caller.
    assert.ok('error' in answered && !(answered.error instanceof AwsUnreachableError))
  })

  test('fails with AwsUnreachableError if there is no connection, or the certificate is not trusted', async () => {
    const server = createServer(testTls)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const callPort = () =>
      callAwsAt({ host: 'localhost', port }, { path: '/', headers: [['host', 'localhost']] })
    try {
      // The certificate is not known here.
      await assert.rejects(callPort(), AwsUnreachableError)
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
    await assert.rejects(callPort(), AwsUnreachableError)
  })

  test('closes the connection after a response with an error status, without reading its endless body', async () => {
    const answered = await call((_, response) => {
      response.writeHead(403)
      const send = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384)));
      }
      response.on('drain', send)
      send()
    })
    assert.match(String('error' in answered && answered.error), /status 403/)
  })

  test('stops reading an endless body after 65536 bytes', async () => {
    let isClosed = false
    const answered = await call((_, response) => {
      const send = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384, ' ')));
      }
      response.on('drain', send).on('close', () => {
        isClosed = true
      })
      send()
    })
    assert.match(String('error' in answered && answered.error), /more than 65536 bytes/)
    assert.ok(isClosed)
  })
})
