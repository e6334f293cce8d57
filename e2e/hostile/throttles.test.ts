// Limits on failed attempts. An attacker who exceeds them must not lock out others, even at the same
// address. The exception: guesses from many unrelated networks block the account that is guessed.
import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { setPassword } from '../../server/auth/login/accounts.ts'
import { claimAddress, hashForUnverifiedAddress } from '../../server/auth/login/claimed-accounts.ts'
import { openPasswords } from '../../server/auth/login/passwords.ts'
import { peopleOf } from '../../server/authentication.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { passwordCost, startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { captureLog } from '../server/captured-log.ts'
import type { ExchangePlatform } from '../sign-in/exchange-platform.ts'
import { startExchangePlatform } from '../sign-in/exchange-platform.ts'
import { startIssuer } from '../sign-in/foreign-issuer.ts'
import { issueRefreshToken } from '../sign-in/refresh-token.ts'
import {
  addAccount,
  begin,
  password,
  redeem,
  relyingParty,
  signIn,
  startSignInPlatform,
} from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

const { exchange, exchangeRefreshToken } = SecurityTokenService.method
const { register, getHeadlessSession } = Auth.method

const maxFailedExchanges = 20

onEachStore('an attacker whose exchanges fail', (engine) => {
  let setUp: ExchangePlatform
  let identity: string
  /** The clock of the server stands still, because failures count for a minute and the attempts may take longer. */
  let time: number
  before(async () => {
    time = Date.now()
    setUp = await startExchangePlatform(engine, { now: () => time, maxFailedExchanges }, 'ES256')
    ;({ uid: identity } = await setUp.createIdentity())
  })
  after(() => setUp.stop())

  /** Makes more attempts than are allowed. Returns the distinct codes that they got, in order of appearance. */
  const codesOf = async (attempt: () => Promise<{ error?: { code: number } | undefined }>) => {
    const codes = new Set<number>()
    for (let count = 0; count <= maxFailedExchanges; count++) codes.add((await attempt()).error?.code ?? 0)
    return [...codes]
  }

  test('does not block a valid exchange from the same address, even for the same issuer and identity', async () => {
    const { issuer, doors } = setUp
    const thief = await startIssuer('ES256')
    const forged = await thief.sign({ iss: issuer.issuer, sub: 'robot' })
    await thief.close()
    const iat = Math.floor(time / 1000)
    const valid = await issuer.sign({ iat, exp: iat + 600 })
    for (const door of doors) {
      const codes = await codesOf(() => door.call(exchange, { identity }, forged))
      assert.ok(codes.includes(Code.RESOURCE_EXHAUSTED), 'further failures are refused as too many')
      assert.equal((await door.call(exchange, { identity }, valid)).error, undefined)
    }
  })

  test('does not block refresh tokens, registrations and sign-ins of others at the same address', async () => {
    const { platform, doors } = setUp
    const [door] = doors
    const nonsense = Buffer.from(JSON.stringify({ id: '0'.repeat(32), secret: 'x' })).toString('base64')
    const codes = await codesOf(() => door.call(exchangeRefreshToken, {}, nonsense))
    assert.deepEqual(codes, [Code.UNAUTHENTICATED, Code.RESOURCE_EXHAUSTED])
    await codesOf(() => door.call(register, {}, 'a.b.c'))
    const refreshToken = await issueRefreshToken(platform, platform.owner.identity)
    assert.equal((await door.call(exchangeRefreshToken, {}, refreshToken)).error, undefined)
    const ada = await platform.addUser('ada@example.com')
    assert.equal((await door.call(register, {}, ada.token)).error, undefined)
    const code = String(generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }).x)
    assert.equal((await door.call(getHeadlessSession, { code })).error?.code, Code.NOT_FOUND)
  })

  test('is throttled separately for each issuer and identity: a failed exchange for another identity gets the usual error', async () => {
    const { doors } = setUp
    const [door] = doors
    const { uid: other } = await setUp.createIdentity()
    await codesOf(() => door.call(exchange, { identity }, 'a.b.c'))
    assert.equal((await door.call(exchange, { identity }, 'a.b.c')).error?.code, Code.RESOURCE_EXHAUSTED)
    assert.equal((await door.call(exchange, { identity: other }, 'a.b.c')).error?.code, Code.UNAUTHENTICATED)
  })
})

onEachStore('an attacker who enters device codes', (engine) => {
  test('does not block the owner of the account, who has another address', async () => {
    const platform = await startSignInPlatform(engine, ['--trusted-proxies', '127.0.0.0/8'])
    try {
      await addAccount(platform, 'ada@example.com')
      const { visitor: ada } = await signIn(platform, 'ada@example.com')
      const { visitor: attacker } = await signIn(platform, 'ada@example.com')
      attacker.address = '198.51.100.1'
      ada.address = '198.51.100.2'
      let page = await attacker.open(`${platform.url}/device`)
      const statuses: number[] = []
      for (let count = 0; count < 12; count++) {
        const next = await attacker.submit(page, { user_code: 'BBBB-BBBB' })
        statuses.push(next.status)
        if (next.status === 200) page = next
      }
      assert.deepEqual(statuses, [...Array(10).fill(200), 429, 429])
      const form = await ada.open(`${platform.url}/device`)
      assert.equal((await ada.submit(form, { user_code: 'CCCC-CCCC' })).status, 200)
    } finally {
      await platform.stop()
    }
  })
})

onEachStore('an attacker who guesses a password from many networks', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startSignInPlatform(engine, ['--trusted-proxies', '127.0.0.0/8'])
  })
  after(() => platform.stop())

  /** Returns the status of one attempt from each address. */
  async function guess(email: string, addresses: string[]): Promise<number[]> {
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(await relyingParty(platform.url))).url)
    const statuses: number[] = []
    for (const address of addresses) {
      visitor.address = address
      statuses.push((await visitor.submit(page, { email, password: 'a wrong password' })).status)
    }
    return statuses
  }

  test('is refused if the networks are in one IPv6 /48, and does not lock out the owner of the account', async () => {
    await addAccount(platform, 'ada@example.com')
    const addresses = Array.from({ length: 110 }, (_, at) => `2001:db8:1:${at + 1}::1`)
    assert.deepEqual(await guess('ada@example.com', addresses), [
      ...Array(30).fill(401),
      ...Array(80).fill(429),
    ])
    const owner = new Visitor(platform.url)
    owner.address = '198.51.100.2'
    await signIn(platform, 'ada@example.com', {}, owner)
  })

  test('blocks the account if the networks are unrelated, but not sign-ins to other accounts from the address of its owner', async () => {
    for (const email of ['bob@example.com', 'eve@example.com']) await addAccount(platform, email)
    const addresses = Array.from({ length: 101 }, (_, at) => `10.${at}.0.1`)
    assert.deepEqual(await guess('bob@example.com', addresses), [...Array(100).fill(401), 429])
    const fromOwnersAddress = Array<string>(60).fill('203.0.113.9')
    assert.deepEqual(await guess('bob@example.com', fromOwnersAddress), Array(60).fill(429))
    const owner = new Visitor(platform.url)
    owner.address = '203.0.113.9'
    await signIn(platform, 'eve@example.com', {}, owner)
  })
})

/** A stored hash that takes half a second of CPU time to compare with a password. */
const expensiveHash = `scrypt$8192$8$16$${'A'.repeat(22)}$${'A'.repeat(43)}`

onEachStore('an attacker who sends more passwords than the server can check', (engine) => {
  test('does not block sign-ins from other networks, even with many networks of one IPv6 /48', async () => {
    const platform = await startSignInPlatform(engine, ['--trusted-proxies', '127.0.0.0/8'])
    const attacks: Promise<void>[] = []
    try {
      await addAccount(platform, 'ada@example.com')
      const expensive = await addAccount(platform, 'eve@example.com')
      await platform.store.write(() => setPassword(expensive, expensiveHash, Date.now()))
      const party = await relyingParty(platform.url)
      const [attacker, ada] = [new Visitor(platform.url), new Visitor(platform.url)]
      ada.address = '198.51.100.2'
      const begun = await begin(party)
      const adasPage = await ada.open(begun.url)
      const page = await attacker.open((await begin(party)).url)
      const statuses = new Set<number>()
      const refused = Promise.withResolvers<void>()
      const attack = async (at: number) => {
        const email = at < 2 ? 'eve@example.com' : `${at}@example.com`
        while (!statuses.has(429)) {
          attacker.address = `2001:db8:1:${(at % 35) + 1}::1`
          const { status } = await attacker.submit(page, { email, password: 'a wrong password' })
          statuses.add(status)
          if (status === 429) refused.resolve()
        }
      }
      // The server checks two passwords at a time. While it checks those of the first two attackers, 64 others wait.
      for (let at = 0; at < 70; at++) attacks.push(attack(at))
      await refused.promise
      await redeem(party, begun, await ada.submit(adasPage, { email: 'ada@example.com', password }))
      await Promise.all(attacks)
      assert.deepEqual([...statuses].sort(), [401, 429])
    } finally {
      await Promise.allSettled(attacks)
      await platform.stop()
    }
  })
})

onEachStore('an attacker who claims the address of another person', (engine) => {
  test('cannot guess the password of that person by changing their own', async () => {
    const platform = await startSignInPlatform(engine, ['--trusted-proxies', '127.0.0.0/8'])
    try {
      const email = 'ada@example.com'
      const secretOfAda = 'a password that only Ada knows'
      for (const chosen of [secretOfAda, password]) await claim(platform, email, chosen)
      const attacker = new Visitor(platform.url)
      attacker.address = '198.51.100.1'
      const { tokens } = await signIn(platform, email, {}, attacker)
      let currentPassword = password
      const guess = async (newPassword: string) => {
        const answer = await fetch(`${platform.url}/iam/v2beta1/account:changePassword`, {
          method: 'POST',
          headers: {
            ...{ authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
            'x-forwarded-for': attacker.address,
          },
          body: JSON.stringify({ currentPassword, newPassword }),
        })
        if (answer.ok) currentPassword = newPassword
        await answer.text()
        return answer.status
      }
      const statuses: number[] = []
      for (let count = 0; count < 10; count++) statuses.push(await guess(`a guess of the password ${count}`))
      assert.deepEqual(statuses, Array(10).fill(200))
      for (const guessed of ['one more wrong password', secretOfAda])
        assert.equal(await guess(guessed), 429, guessed)
      const ada = new Visitor(platform.url)
      ada.address = '203.0.113.9'
      const page = await ada.open((await begin(await relyingParty(platform.url))).url)
      const end = await ada.submit(page, { email, password: secretOfAda })
      assert.ok(end.url.startsWith('http://127.0.0.1:45678/callback?'), end.alert)
    } finally {
      await platform.stop()
    }
  })
})

/** Adds an account that claims an address. */
async function claim(platform: Platform, email: string, chosen: string): Promise<void> {
  const people = peopleOf({ access: operatorAccess, now: Date.now, random: randomBytes })
  const deps = { passwords: openPasswords(randomBytes, passwordCost), secret: platform.secret }
  const passwordHash = await hashForUnverifiedAddress(deps, email, chosen)
  const issuer = platform.config.authUrl
  await platform.store.write(() =>
    claimAddress({ people, random: randomBytes }, { issuer, email, passwordHash }),
  )
}

onEachStore('X-Forwarded-For of an untrusted peer', (engine) => {
  test('is ignored, and the log warns once', async () => {
    const { log, written } = captureLog('warn')
    const platform = await startPlatform(engine, [], {}, log)
    try {
      for (const address of ['198.51.100.1', '198.51.100.2'])
        await fetch(`${platform.url}/iam/v2beta1/groups`, { headers: { 'x-forwarded-for': address } })
      const warnings = written
        .join('')
        .split('\n')
        .filter((line) => line.includes('X-Forwarded-For'))
      assert.equal(warnings.length, 1)
      assert.match(warnings[0] ?? '', /"peer":"(::ffff:)?127\.0\.0\.1".*STEMMA_TRUSTED_PROXIES/)
    } finally {
      await platform.stop()
    }
  })
})
