// Forged tokens and hostile issuers at the exchange. Each is refused with the documented error code.
import assert from 'node:assert/strict'
import { createHmac, KeyObject, sign } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { exportSPKI, importJWK } from 'jose'
import { fetchJsonBy } from '../../server/auth/outbound/fetch-json.ts'
import type { Outbound } from '../../server/auth/outbound/outbound.ts'
import { openOutbound } from '../../server/auth/outbound/outbound.ts'
import type { Door } from '../../server/testing/doors.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ExchangePlatform } from '../sign-in/exchange-platform.ts'
import { startExchangePlatform } from '../sign-in/exchange-platform.ts'
import type { ForeignIssuer } from '../sign-in/foreign-issuer.ts'
import { discoveryPath, keysPath, startIssuer } from '../sign-in/foreign-issuer.ts'

const { exchange } = SecurityTokenService.method
const { register } = Auth.method

/** In seconds, the unit of times in tokens. */
const minute = 60
const now = () => Math.floor(Date.now() / 1000)
const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

onEachStore('the exchange', (engine) => {
  let setUp: ExchangePlatform
  let issuer: ForeignIssuer
  let doors: Door[]
  let identity: string
  before(async () => {
    setUp = await startExchangePlatform(engine)
    ;({ issuer, doors } = setUp)
    identity = (await setUp.createIdentity()).uid
    assert.equal(await codeOf(await issuer.sign()), 0, 'a valid token is accepted')
  })
  after(() => setUp.stop())

  /** The code of the exchange, which must be the same through both doors; 0 is success. */
  async function codeOf(token: string, uid = identity): Promise<number> {
    const answers = await Promise.all(doors.map((door) => door.call(exchange, { identity: uid }, token)))
    assert.deepEqual(answers[0]?.error, answers[1]?.error)
    assert.notEqual(answers[0]?.error?.code, 13)
    return answers[0]?.error?.code ?? 0
  }

  const payloadOf = (claims: JsonObject = {}) => ({
    ...{ iss: issuer.issuer, sub: 'robot', aud: 'http://stemma.test', iat: now(), exp: now() + 600 },
    ...claims,
  })

  describe('refuses tokens', () => {
    test('that are unsigned, or signed by HMAC with the public key or an empty secret', async () => {
      const { kid, jwk } = issuer.key()
      for (const alg of ['none', 'None', 'NONE', '']) {
        const token = `${encode({ alg, kid })}.${encode(payloadOf())}.`
        assert.equal(await codeOf(token), 16, alg)
      }
      const pem = await exportSPKI((await importJWK(jwk, 'RS256')) as Parameters<typeof exportSPKI>[0])
      for (const key of [pem, JSON.stringify(jwk), '']) {
        const signed = `${encode({ alg: 'HS256', kid })}.${encode(payloadOf())}`
        const mac = createHmac('sha256', key).update(signed).digest('base64url')
        assert.equal(await codeOf(`${signed}.${mac}`), 16)
      }
    })

    test('that contain their own key or refer to an unknown key', async () => {
      const thief = await startIssuer()
      try {
        const { jwk } = thief.key()
        for (const header of [{ jwk }, { jku: thief.issuer + keysPath }, { x5u: thief.issuer }, {}]) {
          const token = await thief.sign(payloadOf(), header)
          assert.equal(await codeOf(token), 16, Object.keys(header).join())
        }
        assert.equal(await codeOf(await issuer.sign({}, { kid: 'nobody' })), 16)
        assert.equal(thief.requestCounts.size, 0)
      } finally {
        await thief.close()
      }
    })

    test('that were changed, truncated or padded', async () => {
      const [header = '', payload = '', signature = ''] = (await issuer.sign()).split('.')
      const changed = encode({ ...payloadOf(), sub: 'admin' })
      const tokens = [
        ...[
          `${header}.${changed}.${signature}`,
          `${header}.${payload}.`,
          `${header}.${payload}`,
          `${header}..${signature}`,
        ],
        ...[`${header}.${payload}.${signature}.x`, `..`, `a.b.c`, `${header}.${encode('[]')}.${signature}`],
        ...[`${header}.${encode('null')}.${signature}`, `${header}.${encode('{')}.${signature}`],
        `${header}.${payload}.${'A'.repeat(signature.length)}`,
      ]
      for (const token of tokens) assert.equal(await codeOf(token), 16, token.slice(-40))
    })

    test('that are too large', async () => {
      const large = [
        await issuer.sign({ padding: 'x'.repeat(13_000) }),
        `${'x'.repeat(8000)}.${'y'.repeat(8000)}.z`,
      ]
      for (const token of large) {
        for (const door of doors) {
          const { error } = await door.call(exchange, { identity }, token)
          // Over gRPC, the limit for the size of headers refuses some of them first.
          assert.ok(error?.code === 16 || error?.code === 8, door.name)
        }
      }
      assert.equal(await codeOf(await issuer.sign({ padding: 'x'.repeat(9000) })), 0)
    })

    test('whose JSON contains a name twice', async () => {
      const { kid, privateKey } = issuer.key()
      const twice = `{"iss":"${issuer.issuer}","sub":"admin","aud":"http://stemma.test","iat":${now()},"exp":${now() + 60},"sub":"robot"}`
      const signed = `${encode({ alg: 'RS256', kid })}.${encode(twice)}`
      const signature = sign('sha256', Buffer.from(signed), KeyObject.from(privateKey)).toString('base64url')
      assert.equal(await codeOf(`${signed}.${signature}`), 16)
    })

    test('that are expired, not yet valid or too old', async () => {
      const expired = { iat: now() - 20 * minute, exp: now() - 2 * minute }
      const early = { nbf: now() + 2 * minute }
      const future = { iat: now() + 10 * minute, exp: now() + 20 * minute }
      const old = { iat: now() - 25 * 60 * minute, exp: now() + 60 * minute }
      const undated = { iat: undefined as unknown as number }
      for (const claims of [
        expired,
        early,
        future,
        old,
        undated,
        { exp: 'soon' },
        { exp: -1 },
        { iat: 1e300 },
      ])
        assert.equal(await codeOf(await issuer.sign(claims as JsonObject)), 16, JSON.stringify(claims))
      assert.equal(await codeOf(await issuer.sign({ exp: undefined as unknown as number })), 16)
      // A clock difference of one minute is accepted.
      assert.equal(await codeOf(await issuer.sign({ iat: now() - 100, exp: now() - 30 })), 0)
    })

    test('without audience or subject, or with a malformed one', async () => {
      for (const aud of [
        undefined,
        null,
        '',
        [],
        [''],
        {},
        { a: 1 },
        7,
        [['http://stemma.test']],
        [7, 'http://stemma.test'],
      ])
        assert.equal(
          await codeOf(await issuer.sign({ aud } as unknown as JsonObject)),
          16,
          JSON.stringify(aud),
        )
      for (const sub of [undefined, '', 7, ['robot'], { robot: 1 }])
        assert.equal(
          await codeOf(await issuer.sign({ sub } as unknown as JsonObject)),
          16,
          JSON.stringify(sub),
        )
    })

    test('of issuers that resemble the right one', async () => {
      const genuine = issuer.issuer
      const alike = [
        `${genuine}/`,
        genuine.toUpperCase(),
        `${genuine}#`,
        `${genuine}?`,
        ` ${genuine}`,
        genuine.replace('127', '１２７'),
        `${genuine}\u200b`,
        '',
      ]
      for (const iss of alike) {
        const code = await codeOf(await issuer.sign({ iss }))
        assert.ok(code === 7 || code === 16, iss)
      }
    })

    test('with NUL in the issuer, the subject or the audience', async () => {
      const client = { aud: 'client' }
      for (const claims of [{ iss: 'a\0b' }, { sub: 'a\0b' }, { aud: 'a\0b' }, { aud: ['client', '\0'] }]) {
        const token = await issuer.sign({ ...client, ...claims })
        // Without a requested identity, the server looks up providers by issuer and audience.
        for (const uid of ['', identity]) assert.equal(await codeOf(token, uid), 16, JSON.stringify(claims))
        for (const door of doors)
          assert.equal((await door.call(register, {}, token)).error?.code, 16, JSON.stringify(claims))
      }
    })

    test('with claims that cause catastrophic backtracking in other regular expression engines', async () => {
      const claimPatterns = { text: '(a+)+b|([a-z]+)*1' }
      const claimMatch = { issuer: issuer.issuer, subject: 'robot', claimPatterns }
      const { uid } = await setUp.createIdentity({ claimMatch })
      // A backtracking engine would run practically forever on these.
      for (const text of [`${'a'.repeat(1000)}!`, 'a'.repeat(1000)])
        assert.equal(await codeOf(await issuer.sign({ text }), uid), 7)
    })
  })

  describe('refuses issuers', () => {
    type Respond = (response: ServerResponse, hostile: ForeignIssuer) => void

    const json = (response: ServerResponse, value: unknown) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(value))

    const endless: Respond = (response) => void response.write('{"keys":[')
    const badKeySets: Respond[] = [
      (response) => response.end(`{"keys":["${'x'.repeat(10_000_000)}"]}`),
      endless,
      (response, hostile) => response.writeHead(302, { location: `${hostile.issuer}/other` }).end(),
      (response) => response.writeHead(500).end('{}'),
      (response) => response.end('no json'),
      (response) => json(response, { keys: 'none' }),
      (response) => json(response, { keys: [] }),
      (response) => json(response, { keys: [null, 7, { kty: 'oct', k: 'AAAA' }] }),
      (response) => json(response, []),
      (response) => response.destroy(),
      (response) => response.writeHead(101, { upgrade: 'other', connection: 'upgrade' }).end(),
    ]
    const badDocuments: ((hostile: ForeignIssuer) => unknown)[] = [
      (hostile) => ({ issuer: `${hostile.issuer}/`, jwks_uri: hostile.issuer + keysPath }),
      (hostile) => ({ issuer: 'https://accounts.google.com', jwks_uri: hostile.issuer + keysPath }),
      (hostile) => ({ issuer: hostile.issuer }),
      (hostile) => ({ issuer: hostile.issuer, jwks_uri: 'file:///etc/passwd' }),
      (hostile) => ({ issuer: hostile.issuer, jwks_uri: 'http://169.254.169.254/latest/meta-data' }),
      // Only the issuer itself is trusted, not other servers on this machine.
      (hostile) => ({ issuer: hostile.issuer, jwks_uri: `${setUp.platform.url}/metrics?${hostile.issuer}` }),
      () => null,
    ]

    /** One for each case, because the server caches keys and failures, and one that responds correctly. */
    let unused: ForeignIssuer[]
    let victim: ExchangePlatform
    /** Only the request to this URL has a short timeout. The others must not time out, even on a slow machine. */
    let urlOfEndlessKeys: string
    before(async () => {
      const count = badKeySets.length + badDocuments.length + 1
      unused = await Promise.all(Array.from({ length: count }, () => startIssuer('ES256')))
      const trusted = unused.map(({ issuer }) => issuer).join()
      const impatient = openOutbound({ timeoutMs: 1000, maxBytes: 100_000 })
      const patient = openOutbound({ timeoutMs: 300_000, maxBytes: 100_000 })
      const outbound: Outbound = (url, ...rest) =>
        (url === urlOfEndlessKeys ? impatient : patient)(url, ...rest)
      victim = await startExchangePlatform(engine, { outbound }, 'ES256', ['--trusted-issuers', trusted])
      assert.equal(await codeOfExchange(() => {}), 0, 'an issuer that responds correctly is accepted')
    })
    after(async () => {
      await victim.stop()
      for (const issuer of unused) await issuer.close()
    })

    /** The code of an exchange with a token of an uncached issuer, which `prepare` makes hostile. */
    async function codeOfExchange(prepare: (hostile: ForeignIssuer) => void): Promise<number> {
      const hostile = unused.pop() as ForeignIssuer // there is one for each case
      try {
        prepare(hostile)
        const claimMatch = { issuer: hostile.issuer, subject: 'robot' }
        const { uid } = await victim.createIdentity({ claimMatch })
        const { error } = await victim.doors[0].call(exchange, { identity: uid }, await hostile.sign())
        return error?.code ?? 0
      } finally {
        await hostile.close()
      }
    }

    /** Expects that an issuer is asked at `path` and refused for its response. */
    async function assertRefused(path: string, respond: Respond, name: string): Promise<void> {
      let requestCount = 0
      const code = await codeOfExchange((hostile) => {
        if (respond === endless) urlOfEndlessKeys = hostile.issuer + path
        hostile.replaceResponse(path, (_, response) => {
          requestCount++
          respond(response, hostile)
        })
      })
      assert.deepEqual([code, requestCount], [16, 1], name)
    }

    test('whose key set is too large, slow, redirected, missing or malformed', async () => {
      for (const [at, respond] of badKeySets.entries()) await assertRefused(keysPath, respond, `keys ${at}`)
    })

    test('whose discovery document is malformed or names another issuer or host', async () => {
      for (const [at, document] of badDocuments.entries())
        await assertRefused(
          discoveryPath,
          (response, hostile) => json(response, document(hostile)),
          `document ${at}`,
        )
    })
  })
})

describe('outbound requests', () => {
  const resolving = (...addresses: string[]) =>
    openOutbound({
      timeoutMs: 300_000,
      resolve: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    })

  test('go to public addresses only, whatever DNS returns', async () => {
    const internal = [
      '127.0.0.1',
      '10.0.0.1',
      '169.254.169.254',
      '::1',
      'fe80::1',
      '::ffff:127.0.0.1',
      '0.0.0.0',
    ]
    for (const address of internal)
      await assert.rejects(
        resolving(address)('https://issuer.test/x', false),
        /has no usable address/,
        address,
      )
    for (const host of ['127.0.0.1', '[::1]', '169.254.169.254', '2130706433', '0x7f000001', 'localhost'])
      await assert.rejects(openOutbound()(`https://${host}/x`, false), /has no usable address/, host)
  })

  test('use https', async () => {
    for (const url of ['http://issuer.test', 'file:///etc/passwd', 'ftp://issuer.test'])
      await assert.rejects(resolving('1.1.1.1')(url, false), /is not https/, url)
  })

  test('time out, also when DNS does not answer', async () => {
    const never = openOutbound({ timeoutMs: 100, resolve: () => new Promise(() => {}) })
    await assert.rejects(never('https://issuer.test', false), /timed out/)
  })

  test('try every allowed address until one answers', async () => {
    const issuer = await startIssuer('ES256')
    try {
      const { port } = new URL(issuer.issuer)
      // Nothing listens on the first address.
      const fetchJson = fetchJsonBy(resolving('127.0.0.2', '127.0.0.1'))
      const document = await fetchJson(`http://issuer.test:${port}${discoveryPath}`, true)
      assert.deepEqual(document, { issuer: issuer.issuer, jwks_uri: issuer.issuer + keysPath })
    } finally {
      await issuer.close()
    }
  })
})

// On one store, because the server counts failures in memory.
describe('clients whose exchanges fail', () => {
  test('are throttled after 300 failures in a minute; successes do not count and are never refused', async () => {
    let time = Date.now()
    const setUp = await startExchangePlatform('sqlite', { now: () => time }, 'ES256')
    const { issuer, platform } = setUp
    const [door] = setUp.doors
    try {
      const { uid: identity } = await setUp.createIdentity()
      const good = await issuer.sign()
      const attempt = async (token: string) =>
        (await door.call(exchange, { identity }, token)).error?.code ?? 0
      for (let at = 0; at < 10; at++) assert.equal(await attempt(good), 0)
      for (let at = 0; at < 300; at++) assert.equal(await attempt('a.b.c'), 16)
      assert.deepEqual([await attempt('a.b.c'), await attempt(good)], [8, 0])
      const headers = { authorization: 'Bearer a.b.c' }
      const refused = await fetch(`${platform.url}/sts/exchange?identity=${identity}`, { headers })
      assert.equal(refused.status, 429)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      time += 61_000
      assert.equal(await attempt('a.b.c'), 16)
    } finally {
      await setUp.stop()
    }
  })
})
