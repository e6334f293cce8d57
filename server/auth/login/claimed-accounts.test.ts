import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { peopleOf } from '../../authentication.ts'
import { operatorAccess } from '../../policy/system-access.ts'
import { startPlatform } from '../../testing/platform.ts'
import { onEachStore } from '../../testing/stores.ts'
import { claimAddress, findClaim, hashForUnverifiedAddress, possibleClaimHashes } from './claimed-accounts.ts'
import { openPasswords } from './passwords.ts'

const [email, password] = ['ada@example.com', 'several easy words']
const earlierCost = { N: 1024, r: 8, p: 1 }
const newCost = { N: 2048, r: 8, p: 1 }

onEachStore('an account with an unverified address', (engine) => {
  test('is still found after the cost of new hashes has changed', async () => {
    const platform = await startPlatform(engine)
    try {
      const { store, secret } = platform
      const people = peopleOf({ access: operatorAccess, now: Date.now, random: randomBytes })
      const before = { passwords: openPasswords(randomBytes, earlierCost), secret }
      const claim = {
        ...{ issuer: platform.config.authUrl, email },
        passwordHash: await hashForUnverifiedAddress(before, email, password),
      }
      const identity = await store.write(() => claimAddress({ people, random: randomBytes }, claim))
      const after = { passwords: openPasswords(randomBytes, newCost, [earlierCost]), secret }
      const find = async (typed: string) => {
        const hashes = await possibleClaimHashes(after, email, typed)
        assert.equal(
          hashes[0],
          await hashForUnverifiedAddress(after, email, typed),
          'the first hash is the one that a new account gets',
        )
        return (await store.read(() => findClaim(email, hashes)))?.identity
      }
      assert.equal(await find(password), identity)
      assert.equal(await find('several other words'), undefined)
    } finally {
      await platform.stop()
    }
  })
})
