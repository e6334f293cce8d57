// Rate limits through both doors and at sign-in. The clock of the limits stands still unless a test moves it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { toBinary } from '@bufbuild/protobuf'
import type { Metadata, ServiceError } from '@grpc/grpc-js'
import { Client, credentials, Metadata as GrpcMetadata } from '@grpc/grpc-js'
import { Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GetGroupRequestSchema, GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { Code } from '../../server/aip/code.ts'
import { costClassOf } from '../../server/limits/rate/cost-class.ts'
import type { CallResult, Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { digestOf, ociClient } from '../registry/oci-client.ts'
import type { ExchangePlatform } from '../sign-in/exchange-platform.ts'
import { startExchangePlatform } from '../sign-in/exchange-platform.ts'

const { getGroup, listGroups, createGroup } = GroupsService.method

const detailOf = ({ error }: CallResult, type: string) =>
  error?.details.find((detail) => detail['@type'] === `type.googleapis.com/google.rpc.${type}`)

onEachStore('rate limits', (engine) => {
  let platform: Platform
  let doors: Door[]
  let now = 0
  before(async () => {
    const rates = ['--rate-read', 'caller=1', '--rate-list', 'caller=2', '--rate-write', 'caller=0']
    platform = await startPlatform(engine, [...rates, '--rate-sign-in', 'address=1'], {
      clock: () => now,
    })
    doors = [restDoor(platform.url), grpcDoor(platform.url)]
  })
  after(async () => {
    for (const door of doors ?? []) door.close()
    await platform?.stop()
  })

  const newCaller = () => platform.addIdentity(platform.owner.organization, 'viewer')
  const read = ({ token, organization }: TestIdentity) =>
    fetch(`${platform.url}/iam/v2beta1/groups/${organization}`, {
      headers: { authorization: `Bearer ${token}` },
    })

  async function codesOf(count: number, call: () => Promise<CallResult>): Promise<number[]> {
    const codes: number[] = []
    for (let at = 0; at < count; at++) codes.push((await call()).error?.code ?? 0)
    return codes
  }

  test('count requests to AuthZEN as reads', async () => {
    const { identity, token, organization: id } = await newCaller()
    const [subject, resource] = [
      { type: 'identity', id: identity },
      { type: 'group', id },
    ]
    const evaluate = () =>
      fetch(`${platform.url}/access/v1/evaluation`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ subject, action: { name: 'groups.list' }, resource }),
      })
    for (let at = 0; at < 10; at++) assert.deepEqual(await (await evaluate()).json(), { decision: true })
    const refused = await evaluate()
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1'])
    assert.match((await refused.json()) as string, /^too many/)
  })

  test('are shared by both doors, and an error has the same details through each', async () => {
    const caller = await newCaller()
    const request = { uid: caller.organization }
    for (const door of doors)
      assert.deepEqual(await codesOf(5, () => door.call(getGroup, request, caller.token)), Array(5).fill(0))
    for (const door of doors) {
      const refused = await door.call(getGroup, request, caller.token)
      assert.equal(refused.error?.code, Code.RESOURCE_EXHAUSTED)
      assert.match(refused.error?.message ?? '', /too many read calls of this caller; try again in 1 second$/)
      assert.equal(detailOf(refused, 'RetryInfo')?.retryDelay, '1s')
      assert.deepEqual(detailOf(refused, 'QuotaFailure')?.violations, [
        {
          subject: `caller:${caller.identity}`,
          description: 'read calls are limited to 1 a second, after a burst of 10',
        },
      ])
    }
  })

  test('send RateLimit over REST when less than half is left, and Retry-After with a refusal', async () => {
    const caller = await newCaller()
    const fields = ['retry-after', 'ratelimit-policy', 'ratelimit']
    const seen: (string | null)[][] = []
    for (let at = 0; at < 11; at++) {
      const { status, headers } = await read(caller)
      seen.push([String(status), ...fields.map((name) => headers.get(name))])
    }
    const policy = '"read-caller";q=10;w=10'
    assert.deepEqual(seen, [
      ...Array(5).fill(['200', null, null, null]),
      ...[4, 3, 2, 1].map((left) => ['200', null, policy, `"read-caller";r=${left};t=${10 - left}`]),
      ['200', null, policy, '"read-caller";r=0;t=1'],
      ['429', '1', policy, '"read-caller";r=0;t=1'],
    ])
  })

  test('send RateLimit with errors of calls that were admitted', async () => {
    const caller = await newCaller()
    const request = (path: string) =>
      fetch(platform.url + path, { headers: { authorization: `Bearer ${caller.token}` } })
    for (let at = 0; at < 5; at++) await read(caller)
    const group = `/iam/v2beta1/groups/${caller.organization}`
    const seen: [number, string | null][] = []
    for (const path of [
      `${group}/0123456789abcdef`,
      `${group}?unknown=1`,
      '/v2/acme/none/manifests/latest',
    ]) {
      const { status, headers } = await request(path)
      seen.push([status, headers.get('ratelimit')])
    }
    assert.deepEqual(seen, [
      [404, '"read-caller";r=4;t=6'],
      [400, '"read-caller";r=3;t=7'],
      [404, '"read-caller";r=2;t=8'],
    ])
    const { headers } = await fetch(platform.url + group, { headers: { authorization: 'Bearer x' } })
    assert.equal(headers.get('ratelimit'), null)
  })

  test('send RateLimit at the registry', async () => {
    const caller = await newCaller()
    for (let at = 0; at < 5; at++) await read(caller)
    const owner = ociClient(platform.url, platform.owner.token)
    const digest = await owner.pushImage('acme/web', 'latest', 'layer')
    const client = ociClient(platform.url, caller.token)
    for (const [path, left] of [
      ['/v2/', 4],
      [`/v2/acme/web/manifests/${digest}`, 3],
      [`/v2/acme/web/blobs/${digestOf('layer')}`, 2],
    ] as const) {
      const { headers } = await client.expect(200, 'GET', path)
      assert.equal(headers.get('ratelimit-policy'), '"read-caller";q=10;w=10')
      assert.equal(headers.get('ratelimit'), `"read-caller";r=${left};t=${10 - left}`)
    }
  })

  test('send the same fields as metadata over gRPC', async () => {
    const caller = await newCaller()
    const client = new Client(new URL(platform.url).host, credentials.createInsecure())
    const bytes = Buffer.from(
      toBinary(GetGroupRequestSchema, {
        $typeName: GetGroupRequestSchema.typeName,
        uid: caller.organization,
      }),
    )
    const metadata = new GrpcMetadata()
    metadata.set('authorization', `Bearer ${caller.token}`)
    const call = () =>
      new Promise<Metadata>((resolve) => {
        const same = (value: Buffer) => value
        const path = `/${GroupsService.typeName}/GetGroup`
        const sent = client.makeUnaryRequest(
          path,
          same,
          same,
          bytes,
          metadata,
          (error: ServiceError | null) => {
            if (error) resolve(error.metadata)
          },
        )
        sent.on('status', (status) => resolve(status.metadata))
      })
    const trailers: Metadata[] = []
    for (let at = 0; at < 11; at++) trailers.push(await call())
    client.close()
    assert.deepEqual(trailers[4]?.get('ratelimit'), [])
    assert.deepEqual(trailers[5]?.get('ratelimit'), ['"read-caller";r=4;t=6'])
    assert.deepEqual(trailers[5]?.get('ratelimit-policy'), ['"read-caller";q=10;w=10'])
    assert.deepEqual(trailers[10]?.get('ratelimit'), ['"read-caller";r=0;t=1'])
    assert.deepEqual(trailers[10]?.get('retry-after'), ['1'])
  })

  test('are shared by v1 and v2, where a call of v1 counts once', async () => {
    for (const door of doors) {
      const caller = await newCaller()
      const v1 = () => door.call(Groups.method.list, {}, caller.token)
      const v2 = () => door.call(listGroups, {}, caller.token)
      assert.deepEqual(await codesOf(10, v1), Array(10).fill(0))
      assert.deepEqual(await codesOf(11, v2), [...Array(10).fill(0), Code.RESOURCE_EXHAUSTED])
      assert.deepEqual(await codesOf(1, v1), [Code.RESOURCE_EXHAUSTED])
    }
  })

  test('count streams as lists', async () => {
    for (const door of doors) {
      const caller = await newCaller()
      const stream = () => door.call(AdvisoriesService.method.exportAdvisoriesOsv, {}, caller.token)
      assert.deepEqual(await codesOf(21, stream), [...Array(20).fill(0), Code.RESOURCE_EXHAUSTED])
    }
  })

  test('admit calls again as time passes', async () => {
    const caller = await newCaller()
    for (const door of doors) {
      const call = () => door.call(getGroup, { uid: caller.organization }, caller.token)
      assert.ok((await codesOf(11, call)).includes(Code.RESOURCE_EXHAUSTED))
      now += 3000
      assert.deepEqual(await codesOf(4, call), [0, 0, 0, Code.RESOURCE_EXHAUSTED])
      now += 10_000
    }
  })

  test('of 0 are off', async () => {
    const { token, organization } = platform.owner
    for (const door of doors)
      for (let at = 0; at < 30; at++) {
        const request = { parent: organization, group: { name: `${door.name.toLowerCase()}-${at}` } }
        assert.equal((await door.call(createGroup, request, token)).error, undefined)
      }
  })

  test('show a page to browsers at sign-in, and JSON to programs', async () => {
    for (let at = 0; at < 10; at++) await fetch(`${platform.url}/device`).then((response) => response.text())
    const page = await fetch(`${platform.url}/device`)
    assert.equal(page.status, 429)
    assert.equal(page.headers.get('retry-after'), '1')
    assert.equal(page.headers.get('ratelimit'), '"sign-in-address";r=0;t=1')
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
    assert.match(await page.text(), /Too many sign-in calls of this address; try again in 1 second\./)
    const token = await fetch(`${platform.url}/oauth/token`, { method: 'POST', body: new URLSearchParams() })
    assert.equal(token.status, 429)
    assert.equal(token.headers.get('retry-after'), '1')
    assert.equal(((await token.json()) as { error: string }).error, 'temporarily_unavailable')
  })
})

onEachStore('a limited call', (engine) => {
  test('is refused before its body is read, and by a limit of its address before its token is checked', async () => {
    const rates = ['--rate-write', 'caller=0.1,address=0.2', '--rate-read', 'address=0.1']
    const platform = await startPlatform(engine, rates, { clock: () => 0 })
    const post = (authorization: string) =>
      fetch(`${platform.url}/iam/v2beta1/groups`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: '{',
      })
    try {
      const mine = `Bearer ${platform.owner.token}`
      assert.deepEqual([(await post(mine)).status, (await post(mine)).status], [400, 429])
      assert.deepEqual([(await post('Bearer x')).status, (await post('Bearer x')).status], [401, 429])
    } finally {
      await platform.stop()
    }
  })
})

onEachStore('the rate limit of the token exchange', (engine) => {
  let setUp: ExchangePlatform
  before(async () => {
    setUp = await startExchangePlatform(engine, { clock: () => 0 }, 'ES256', [
      '--rate-exchange',
      'caller=1,organization=2.5,address=0',
    ])
  })
  after(() => setUp.stop())

  test('counts successful exchanges by identity and organization, and does not count failed ones', async () => {
    const { doors, issuer } = setUp
    const token = await issuer.sign()
    const [first, second, third] = [
      await setUp.createIdentity(),
      await setUp.createIdentity(),
      await setUp.createIdentity(),
    ]
    const codesOf = async (identity: string, count: number, bearer: string) => {
      const codes: number[] = []
      for (let at = 0; at < count; at++) {
        const door = doors[at % 2] as Door // there are two
        codes.push(
          (await door.call(SecurityTokenService.method.exchange, { identity }, bearer)).error?.code ?? 0,
        )
      }
      return codes
    }
    assert.deepEqual(await codesOf(first.uid, 20, 'a.b.c'), Array(20).fill(Code.UNAUTHENTICATED))
    assert.deepEqual(await codesOf(first.uid, 12, token), [
      ...Array(10).fill(0),
      ...Array(2).fill(Code.RESOURCE_EXHAUSTED),
    ])
    assert.deepEqual(await codesOf(second.uid, 10, token), Array(10).fill(0))
    const ofOrganization = [...Array(5).fill(0), ...Array(3).fill(Code.RESOURCE_EXHAUSTED)]
    assert.deepEqual(await codesOf(third.uid, 8, token), ofOrganization)
  })
})

describe('cost classes', () => {
  test('are derived for every method', async () => {
    const platform = await startPlatform('sqlite')
    const exceptions: [string, string][] = []
    try {
      for (const { method } of platform.app.endpoints) {
        const { name } = method.desc
        const usual = /^List/.test(name) ? 'list' : /^Get|^Lookup|^Check/.test(name) ? 'read' : 'write'
        const costClass = costClassOf(method)
        if (costClass !== usual) exceptions.push([costClass, method.name])
      }
    } finally {
      await platform.stop()
    }
    assert.deepEqual(exceptions, [
      ['list', 'platform.iam.v2beta1.AccountAssociationsService.CheckAccountAssociation'],
      ['list', 'platform.registry.v2beta1.ReposService.PreviewRetention'],
      ['list', 'platform.vulnerabilities.v2beta1.AdvisoriesService.ExportAdvisoriesOsv'],
      ['list', 'platform.vulnerabilities.v2beta1.AdvisoriesService.ExportAdvisoriesOpenVex'],
      ['exchange', 'platform.oidc.SecurityTokenService.Exchange'],
      ['exchange', 'platform.oidc.SecurityTokenService.ExchangeRefreshToken'],
      ['list', 'platform.events.v2beta1.EventsService.TailEvents'],
      ['read', 'platform.ping.v2beta1.PingService.Ping'],
      ['read', 'platform.ping.PingService.Ping'],
      ['list', 'platform.iam.v2beta1.AccessService.BatchCheckAccess'],
      ['read', 'platform.iam.v2beta1.AccessService.ExplainAccess'],
      ['list', 'platform.audit.v2beta1.AuditEntriesService.ExportAuditEntries'],
      ['sign-in', 'platform.auth.Auth.Register'],
      ['sign-in', 'platform.auth.Auth.GetHeadlessSession'],
      ['read', 'platform.auth.Auth.Validate'],
      ['list', 'platform.iam.GroupAccountAssociations.Check'],
    ])
  })
})
