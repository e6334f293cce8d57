// Control characters in the responses of a server, which `stemma` must not print at a terminal.
// They can be in the texts of other tenants, or the server itself can be hostile.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Client } from '../cli/client.ts'
import { openClient } from '../cli/client.ts'
import { atTerminal, noTerminalReason } from '../cli/terminal.ts'

/** Escape sequences that set the title, write to the clipboard and clear the screen twice: with `ESC [` and with 0x9b. */
const attack = '\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b[2J\x9b2J'
const uid = 'a'.repeat(40)

const identity = {
  ...{ uid: `${uid}/${'b'.repeat(16)}`, name: `ci${attack}`, [`new${attack}`]: attack },
  claimMatch: { issuer: 'https://x.test', subject: attack, claims: { [`key${attack}`]: attack } },
}
const whoAmI = {
  ...{ subject: uid, email: `ada${attack}@x.test`, expiry: '2030-01-01T00:00:00Z' },
  capabilities: [{ group: { id: uid, name: attack }, role: { name: attack }, capabilities: [] }],
}

describe('control characters from a server', () => {
  let server: Server
  let client: Client
  let env: NodeJS.ProcessEnv
  before(async () => {
    server = createServer(({ url = '' }, response) => {
      if (url.startsWith('/not-json')) return void response.end(`<p>${attack}`)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(url.startsWith('/auth/') ? whoAmI : identity))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    client = await openClient('inline')
    const { port } = server.address() as AddressInfo // address() returns a string only for pipes
    env = { STEMMA_API: `http://127.0.0.1:${port}`, STEMMA_TOKEN: 'x.y.z' }
  })
  after(async () => {
    server.close()
    await client.remove()
  })

  /** Allows line breaks, and colours, which `stemma` itself adds. */
  const assertPlain = (text: string) => {
    assert.doesNotMatch(text.replace(/\x1b\[[\d;]*m/g, ''), /[\x00-\x09\x0b-\x1f\x7f-\x9f]/)
    assert.notEqual(text.trim(), '')
  }

  test('are not in the text output of a command', async () => {
    const { code, stdout, stderr } = await client.run(['identities', 'get', identity.uid], '', env)
    assert.equal(code, 0, stderr)
    assertPlain(stdout)
  })

  test('are not in the status of the sign-in', async () => {
    const { code, stdout, stderr } = await client.run(['auth', 'status'], '', env)
    assert.equal(code, 0, stderr)
    assertPlain(stdout)
  })

  test('are not in the error about a response that is not JSON', async () => {
    const notJsonEnv = { ...env, STEMMA_API: `${env.STEMMA_API}/not-json` }
    const { code, stdout, stderr } = await client.run(['auth', 'status'], '', notJsonEnv)
    assert.deepEqual([code, stdout], [7, ''])
    assertPlain(stderr)
  })

  test('are kept in JSON for programs, but not printed at a terminal', {
    skip: noTerminalReason,
  }, async () => {
    const args = ['identities', 'get', identity.uid, '-o', 'json']
    const { stdout } = await client.run(args, '', env)
    assert.equal(JSON.parse(stdout).name, identity.name)
    const { code, screen } = await atTerminal(args, { HOME: client.home, ...env })
    assert.equal(code, 0, screen)
    assertPlain(screen.replaceAll('\r\n', '\n'))
  })
})
