// Attempts to get around the rate limits, or to use them against others. The clock of the limits
// stands still, so a limit of 1 call per second admits a burst of 10 calls and then none.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { Code } from '../../server/aip/code.ts'
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { RawClient } from '../../server/testing/raw-http.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'

const { getGroup } = GroupsService.method
const clock = () => 0

/**
 * How many of `count` reads over REST are answered with 200. The read with the index `at` sends
 * `forwardedFor(at)` as X-Forwarded-For.
 */
async function answered(
  { url }: Platform,
  { token, organization }: TestIdentity,
  count: number,
  forwardedFor?: (at: number) => string,
): Promise<number> {
  let total = 0
  for (let at = 0; at < count; at++) {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(forwardedFor && { 'x-forwarded-for': forwardedFor(at) }),
    }
    const response = await fetch(`${url}/iam/v2beta1/groups/${organization}`, { headers })
    await response.arrayBuffer()
    if (response.ok) total++
    else assert.equal(response.status, 429)
  }
  return total
}

onEachStore('a caller that ignores its rate limit', (engine) => {
  let platform: Platform
  let doors: Door[]
  before(async () => {
    platform = await startPlatform(engine, ['--rate-read', 'caller=1,organization=3,address=4'], {
      clock,
    })
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors) door.close()
    await platform.stop()
  })

  async function admitted({ token, organization }: TestIdentity, count: number): Promise<number> {
    let total = 0
    for (let at = 0; at < count; at++)
      for (const door of doors) {
        const { error } = await door.call(getGroup, { uid: organization }, token)
        if (!error) total++
        else assert.equal(error.code, Code.RESOURCE_EXHAUSTED)
      }
    return total
  }

  test('uses up neither the limit of its address nor that of its organization', async () => {
    const other = await platform.addIdentity(platform.owner.organization, 'viewer')
    // More calls than the address may make, over each door.
    assert.equal(await admitted(platform.owner, 50), 10)
    assert.equal(await admitted(other, 50), 10)
  })

  test('is stopped by the limit of its address if it uses many identities', async () => {
    const evil = await platform.addOrganization('evil')
    let total = 0
    for (let at = 0; at < 10; at++)
      total += await admitted(await platform.addIdentity(evil.organization, 'viewer'), 5)
    // The limit of the address admits 40 calls, and the test before has used 20 of them.
    assert.equal(total, 20)
  })
})

onEachStore('a workload of many identities', (engine) => {
  test('is limited by its organization, and leaves other organizations alone', async () => {
    const platform = await startPlatform(engine, ['--rate-read', 'caller=1,organization=2,address=0'], {
      clock,
    })
    try {
      const { organization } = platform.owner
      let total = 0
      for (let at = 0; at < 5; at++)
        total += await answered(platform, await platform.addIdentity(organization, 'viewer'), 10)
      assert.equal(total, 20)
      assert.equal(await answered(platform, await platform.addOrganization('other'), 15), 10)
      const person = await platform.addUser('ada@example.com')
      await platform.bind(person.identity, 'viewer', organization)
      assert.equal(
        await answered(platform, { ...person, organization }, 15),
        10,
        'calls of a person count for no organization',
      )
    } finally {
      await platform.stop()
    }
  })
})

onEachStore('X-Forwarded-For', (engine) => {
  const rates = ['--rate-read', 'caller=0,organization=0,address=1']

  test('of an untrusted client is ignored: its calls count for one address', async () => {
    const platform = await startPlatform(engine, rates, { clock })
    try {
      assert.equal(await answered(platform, platform.owner, 15, (at) => `198.51.100.${at}`), 10)
    } finally {
      await platform.stop()
    }
  })

  test('of a trusted proxy names the limited address: the last that is not a proxy, for IPv6 its /64', async () => {
    const platform = await startPlatform(engine, [...rates, '--trusted-proxies', '127.0.0.0/8,10.0.0.0/8'], {
      clock,
    })
    const count = (forwardedFor: (at: number) => string) =>
      answered(platform, platform.owner, 15, forwardedFor)
    try {
      assert.equal(await count((at) => `198.51.100.${at}, 203.0.113.1`), 10, 'forged entries are ignored')
      assert.equal(await count((at) => `198.51.100.${at}, 203.0.113.1, 10.0.0.${at}`), 0)
      assert.equal(await count((at) => `2001:db8:0:1::${at.toString(16)}`), 10)
      assert.equal(await count((at) => `2001:db8:0:2::${at.toString(16)}`), 10)
      assert.equal(await answered(platform, platform.owner, 15), 15, 'the proxy itself has no limit')
    } finally {
      await platform.stop()
    }
  })
})

onEachStore('a caller with many calls at a time', (engine) => {
  let platform: Platform
  const clients: RawClient[] = []
  before(async () => {
    platform = await startPlatform(engine, ['--max-calls-per-caller', '3'], { clock })
  })
  after(async () => {
    for (const client of clients) client.close()
    await platform.stop()
  })

  /** A call that runs until the rest of its body is sent. */
  async function startSlowCall({ token }: TestIdentity): Promise<RawClient> {
    const client = await rawClient(platform.app.port)
    clients.push(client)
    const lines = [
      `POST /iam/v2beta1/groups HTTP/1.1`,
      'Host: a',
      `Authorization: Bearer ${token}`,
      'Content-Length: 2',
    ]
    // The server asks for the body once it has authenticated and counted the call.
    client.send(`${[...lines, 'Expect: 100-continue'].join('\r\n')}\r\n\r\n`)
    assert.equal((await client.response()).status, 100)
    return client
  }

  test('is refused, others are not, and calls that end or are cancelled make room', async () => {
    const { owner } = platform
    const slow = [await startSlowCall(owner), await startSlowCall(owner), await startSlowCall(owner)]
    assert.equal(await answered(platform, owner, 2), 0)
    const other = await platform.addIdentity(owner.organization, 'viewer')
    assert.equal(await answered(platform, other, 2), 2)
    slow[0]?.send('{}')
    assert.equal((await slow[0]?.response())?.status, 400)
    assert.equal(await answered(platform, owner, 2), 2)
    slow[1]?.socket.destroy()
    slow[2]?.socket.destroy()
    const running = [await startSlowCall(owner)]
    // The server notices the closed connections in its own time.
    while (running.length < 3)
      if ((await answered(platform, owner, 1)) === 1) running.push(await startSlowCall(owner))
    assert.equal(await answered(platform, owner, 1), 0)
  })
})
