// Sign-in works across restarts and across several copies of the server.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer, request as send } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { App } from '@stemma/server/app.ts'
import { startApp } from '@stemma/server/app.ts'
import { recordRotation, rotateKeys } from '@stemma/server/auth/keys/rotation.ts'
import { ensureVouchedAccount, setPassword } from '@stemma/server/auth/login/accounts.ts'
import { openPasswords } from '@stemma/server/auth/login/passwords.ts'
import { mintToken } from '@stemma/server/auth/tokens/mint.ts'
import { peopleOf } from '@stemma/server/authentication.ts'
import { readConfig } from '@stemma/server/config/config.ts'
import { openLog } from '@stemma/server/log.ts'
import { openStore, prepareStore } from '@stemma/server/storage.ts'
import { sql } from '@stemma/server/store/sql.ts'
import type { Platform } from '@stemma/server/testing/platform.ts'
import { passwordCost } from '@stemma/server/testing/platform.ts'
import type { TemporaryStore } from '@stemma/server/testing/stores.ts'
import { onEachStore } from '@stemma/server/testing/stores.ts'
import { preparedStore } from '@stemma/server/testing/templates.ts'
import { decodeProtectedHeader } from 'jose'
import * as oidc from 'openid-client'
import { freePort } from '../../api/testing/free-port.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { begin, password, redeem, relyingParty, signIn } from './sign-in.ts'
import { Visitor } from './visitor.ts'

const ada = 'ada@example.com'

onEachStore('sign-in', (engine) => {
  let temporary: TemporaryStore
  let url: string
  before(async () => {
    temporary = await preparedStore(engine)
    url = `http://127.0.0.1:${await freePort()}`
    const { config } = settings(0)
    const store = openStore(config)
    await prepareStore(config, store)
    const hash = await openPasswords(randomBytes, passwordCost).hash(password)
    await store.write(function* () {
      const uid = yield* ensureVouchedAccount(
        peopleOf({ access: operatorAccess, now: Date.now, random: randomBytes }),
        config.authUrl,
        ada,
        Date.now(),
      )
      yield* setPassword(uid, hash, Date.now())
    })
    await store.close()
  })
  after(() => temporary.remove())

  const settings = (port: number) =>
    readConfig({}, [...temporary.settings, '--base-url', url, '--port', String(port), '--drain-delay', '0'])

  let clockOffset = 0
  const now = () => Date.now() + clockOffset
  const startServer = (port: number) =>
    startApp(settings(port).config, openLog('silent'), { now, passwordCost })

  test('survives a restart at every step', async () => {
    const { port } = new URL(url)
    let app = await startServer(Number(port))
    const restart = async () => {
      await app.stop(true)
      app = await startServer(Number(port))
    }
    try {
      const party = await relyingParty(url)
      const visitor = new Visitor(url)
      const begun = await begin(party)
      const page = await visitor.open(begun.url)
      await restart()
      const end = await visitor.submit(page, { email: ada, password })
      await restart()
      const tokens = await redeem(party, begun, end)
      await restart()
      const again = await visitor.open((await begin(party)).url)
      assert.equal(again.title, 'Continue?')
      assert.ok((await oidc.refreshTokenGrant(party, tokens.refresh_token ?? '')).access_token)
    } finally {
      await app.stop(true)
    }
  })

  test('accepts id tokens of a retired key as hints, and signs new ones with its successor', async () => {
    const { config } = settings(0)
    const { port } = new URL(url)
    let app = await startServer(Number(port))
    try {
      const { tokens, visitor } = await signIn({ url } as Platform, ada)
      await app.stop(true)
      const store = openStore(config)
      const { secret } = await prepareStore(config, store)
      // The new keys come into use ten minutes after the rotation.
      const rotateTime = Date.now() - 11 * 60_000
      const { tokenAlgorithm } = config
      const deps = { store, secret, tokenAlgorithm, now: () => rotateTime, random: randomBytes }
      await rotateKeys(deps, false, () => recordRotation(operatorAccess, false))
      await store.close()
      app = await startServer(Number(port))
      const page = await visitor.open(`/oauth/logout?id_token_hint=${tokens.id_token}`)
      assert.equal(page.title, 'Sign out?')
      const { tokens: newTokens } = await signIn({ url } as Platform, ada)
      for (const name of ['id_token', 'access_token'] as const) {
        const [oldKid, newKid] = [tokens, newTokens].map(
          ({ [name]: token = '' }) => decodeProtectedHeader(token).kid,
        )
        assert.notEqual(newKid, oldKid, name)
      }
    } finally {
      await app.stop(true)
    }
  })

  // Several copies need PostgreSQL.
  if (engine === 'sqlite') return
  describe('with two copies behind one address', () => {
    let copies: App[]
    let balancer: Server
    before(async () => {
      copies = await Promise.all([startServer(0), startServer(0)])
      balancer = await startBalancer(
        copies.map(({ port }) => port),
        Number(new URL(url).port),
      )
    })
    after(async () => {
      balancer.closeAllConnections()
      balancer.close()
      await Promise.all(copies.map((copy) => copy.stop(true)))
    })

    test('works whichever copy answers', async () => {
      for (let count = 0; count < 2; count++) {
        const { tokens, party, visitor } = await signIn({ url } as Platform, ada)
        const refreshToken = tokens.refresh_token ?? ''
        const uses = await Promise.all([1, 2, 3, 4].map(() => oidc.refreshTokenGrant(party, refreshToken)))
        assert.equal(new Set(uses.map(({ refresh_token }) => refresh_token)).size, 1)
        clockOffset = 61_000
        await assert.rejects(oidc.refreshTokenGrant(party, refreshToken))
        await assert.rejects(oidc.refreshTokenGrant(party, uses[0]?.refresh_token ?? ''))
        clockOffset = 0
        const begun = await begin(party)
        const end = await visitor.submitTo(await visitor.open(begun.url), '/continue')
        assert.ok(await redeem(party, begun, end))
      }
    })

    test('redeems a code at most once', async () => {
      const party = await relyingParty(url)
      const visitor = new Visitor(url)
      const begun = await begin(party)
      const end = await visitor.submit(await visitor.open(begun.url), { email: ada, password })
      const attempts = await Promise.allSettled(Array.from({ length: 6 }, () => redeem(party, begun, end)))
      assert.ok(attempts.filter(({ status }) => status === 'fulfilled').length <= 1)
    })

    test('uses rotated keys on every copy', async () => {
      const { config } = settings(0)
      const store = openStore(config)
      const { secret, keys } = await prepareStore(config, store)
      const { tokenAlgorithm } = config
      const deps = { store, secret, tokenAlgorithm, now: Date.now, random: randomBytes }
      await rotateKeys(deps, true, () => recordRotation(operatorAccess, true))
      await keys.reload()
      // Signed with the old keys, because the copies have not read the new ones yet.
      const { tokens: oldTokens } = await signIn({ url } as Platform, ada)
      const [row] = await store.query(sql`select identity from accounts where email = ${ada}`)
      const signer = { keys, authUrl: config.authUrl, now: Date.now, random: randomBytes }
      const token = await mintToken(signer, { identity: row?.[0] as string, audience: config.baseUrl })
      await store.close()
      // A copy that does not know the key of a token reads the keys again at once.
      for (const { port } of copies) assert.equal(await statusWith(`http://127.0.0.1:${port}`, token), 200)
      for (const { port } of copies) {
        const { tokens } = await signIn({ url } as Platform, ada)
        assert.equal(decodeProtectedHeader(tokens.access_token).kid, keys.signing().kid)
        assert.equal(await statusWith(`http://127.0.0.1:${port}`, tokens.access_token), 200)
        assert.equal(await statusWith(`http://127.0.0.1:${port}`, oldTokens.access_token), 401)
      }
    })
  })
})

/** The HTTP status of a call with this token. */
async function statusWith(url: string, token: string): Promise<number> {
  return (await fetch(`${url}/auth/v1/ok`, { headers: { authorization: `Bearer ${token}` } })).status
}

/** A load balancer that sends each request to the next of these ports in turn. */
async function startBalancer(ports: number[], balancerPort: number): Promise<Server> {
  let count = 0
  const server = createServer((request, response) => {
    const { method, url: path, headers } = request
    const port = ports[count++ % ports.length]
    const forwarded = send({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.writeHead(502).end())
    request.pipe(forwarded)
  })
  await once(server.listen(balancerPort, '127.0.0.1'), 'listening')
  return server
}
