import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openKnownNetworks } from './known-networks.ts'
import { partyOf, partyOfAddress } from './party.ts'

const identity = '0123456789abcdef0123456789abcdef01234567/0123456789abcdef'
const options = () => ({
  addressOf: (peer: string | undefined) => peer ?? '',
  findCaller: (authorization: string) => (authorization === 'Bearer verified' ? { identity } : undefined),
  knownNetworks: openKnownNetworks(),
})

describe('the party of a call', () => {
  test('is the organization if the token was verified before', () => {
    const { group, member } = partyOf(options(), { authorization: 'Bearer verified' }, '192.0.2.1')
    assert.deepEqual([group, member], [identity.split('/')[0], identity])
  })

  test('is the network for other tokens, and without one', () => {
    for (const headers of [{ authorization: 'Bearer invented' }, {}]) {
      const { group, member } = partyOf(options(), headers, '192.0.2.1')
      assert.deepEqual([group, member], ['192.0', '192.0.2.1'])
    }
  })

  test('has more weight after a verified token was sent from its network', () => {
    const parties = options()
    const unknown = partyOf(parties, {}, '192.0.2.1')
    const caller = partyOf(parties, { authorization: 'Bearer verified' }, '192.0.2.1')
    const known = partyOf(parties, {}, '192.0.77.7')
    assert.equal(known.weight, caller.weight)
    assert.ok(known.weight > unknown.weight)
    assert.equal(partyOf(parties, {}, '198.51.100.1').weight, unknown.weight)
    assert.equal(partyOfAddress(parties.knownNetworks, '192.0.2.9').weight, known.weight)
  })
})
