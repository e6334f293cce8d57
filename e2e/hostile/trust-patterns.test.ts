// Identities whose claim match has a pattern that is expensive to match. A change of an identity searches for
// identities that trust it, and must not match their patterns on the event loop, which serves every tenant.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { Identity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentitiesService, IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { openPatterns } from '../../server/claims/pattern.ts'
import type { TrustTask } from '../../server/claims/trust.ts'
import { performTrustCheck, trustCost } from '../../server/claims/trust.ts'
import { withTrustDecisions } from '../../server/resources/iam/trust-decisions.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { PoolOptions } from '../../server/threads/pool.ts'
import type { ExchangePlatform } from '../sign-in/exchange-platform.ts'
import { startExchangePlatform } from '../sign-in/exchange-platform.ts'

const { createIdentity, updateIdentity } = IdentitiesService.method
const issuer = 'http://stemma.test'

/** Takes 60 ms to match with a long uid. */
const costlyPattern = '.*a.{0,160}b.{0,160}c.{0,160}d.{0,150}x'

/** Program of a thread that accepts every new pattern, and never answers when it has to match patterns. */
const stuckProgram = new URL(
  `data:text/javascript,import{parentPort}from'node:worker_threads';
  parentPort.on('message',({kind,patterns})=>{while(kind==='trust');parentPort.postMessage({result:patterns.map(()=>({}))})})`,
)

/** Program of a thread that accepts every new pattern, and answers each match as if it had exceeded its limits. */
const exceedingProgram = new URL(
  `data:text/javascript,import{parentPort}from'node:worker_threads';
  parentPort.on('message',({kind,patterns})=>parentPort.postMessage({result:kind==='trust'?undefined:patterns.map(()=>({}))}))`,
)

/** An identity in a team, another in the organization with an expensive pattern, and an administrator of the team. */
async function setUpTeam(setUp: ExchangePlatform) {
  const { platform, callAsOwner } = setUp
  const { organization } = platform.owner
  const group = { parent: organization, group: { name: randomBytes(4).toString('hex') } }
  const team = (await callAsOwner(GroupsService.method.createGroup, group)).uid as string
  const claimMatch = { issuer: setUp.issuer.issuer, subject: 'robot' }
  const robot = (await callAsOwner(createIdentity, { parent: team, identity: { name: 'x', claimMatch } })).uid
  const admin = await platform.addIdentityWith(team, ['CAP_IAM_IDENTITY_CREATE', 'CAP_IAM_IDENTITY_UPDATE'])
  const { uid: deployer } = await setUp.createIdentity({
    claimMatch: { issuer, subjectPattern: costlyPattern },
  })
  const change = (subject: string) => ({ identity: { uid: robot as string, claimMatch: { subject } } })
  const creation = { parent: team, identity: { name: 'new', claimMatch } }
  return { change, creation, admin, deployer }
}

onEachStore('a change of an identity that an expensive pattern may match', (engine) => {
  let setUp: ExchangePlatform
  const start = async (checkLimits: Partial<PoolOptions>) => {
    setUp = await startExchangePlatform(engine, { checkLimits, drainTimeoutMs: 0 }, 'ES256')
    return setUpTeam(setUp)
  }
  afterEach(() => setUp.stop())

  test('waits for a thread, while other calls are answered', async () => {
    const { change, creation, admin } = await start({ program: stuckProgram, timeLimitMs: 600_000 })
    let answeredCount = 0
    const waitingCalls = setUp.doors.flatMap((door) => [
      door.call(updateIdentity, change(door.name), admin.token).finally(() => answeredCount++),
      door.call(createIdentity, creation, admin.token).finally(() => answeredCount++),
    ])
    for (const door of setUp.doors)
      for (let count = 0; count < 10; count++)
        assert.ok((await door.call(GroupsService.method.listGroups, {}, setUp.platform.owner.token)).body)
    assert.equal(answeredCount, 0)
    const outcomes = Promise.all(waitingCalls)
    await setUp.stop()
    for (const { error } of await outcomes) assert.equal(error?.code, 14, error?.message)
  })

  test('requires the capabilities of the identity with the pattern if the match exceeds its limits', async () => {
    const { change, creation, admin, deployer } = await start({ program: exceedingProgram })
    for (const door of setUp.doors) {
      const before = await door.call(updateIdentity, change(`${door.name}-1`), admin.token)
      assert.ok(before.body, before.error?.message)
    }
    await setUp.platform.bind(deployer, 'editor', setUp.platform.owner.organization)
    for (const door of setUp.doors) {
      assert.equal((await door.call(updateIdentity, change('x'), admin.token)).error?.code, 7)
      assert.equal((await door.call(createIdentity, creation, admin.token)).error?.code, 7)
      const byOwner = await door.call(updateIdentity, change(door.name), setUp.platform.owner.token)
      assert.ok(byOwner.body, byOwner.error?.message)
    }
  })

  test('succeeds if the thread finds that the pattern does not match', async () => {
    const { change, creation, admin, deployer } = await start({})
    await setUp.platform.bind(deployer, 'editor', setUp.platform.owner.organization)
    for (const door of setUp.doors) {
      const updated = await door.call(updateIdentity, change(door.name), admin.token)
      assert.ok(updated.body, updated.error?.message)
      const created = await door.call(createIdentity, creation, admin.token)
      assert.ok(created.body, created.error?.message)
    }
  })
})

const identityWith = (subjectPattern: string, at: number): Identity =>
  create(IdentitySchema, {
    uid: `${'0'.repeat(40)}/${at.toString(16).padStart(16, '0')}`,
    updateTime: timestampFromMs(1),
    relationship: {
      case: 'claimMatch',
      value: {
        iss: { case: 'issuer', value: issuer },
        sub: { case: 'subjectPattern', value: subjectPattern },
      },
    },
  })

const longUids = Array.from(
  { length: 50 },
  () => `${randomBytes(20).toString('hex')}${`/${randomBytes(8).toString('hex')}`.repeat(31)}`,
)

/**
 * Decides for every pair of an identity and a subject whether the identity trusts the subject. Also returns the tasks
 * that threads received, the number of patterns compiled on the event loop, and the number of runs of the transaction.
 */
async function decide(identities: Identity[], subjects: string[]) {
  const tasks: Omit<TrustTask, 'kind'>[] = []
  const patternsInThread = openPatterns()
  const patternsOnLoop = openPatterns()
  const checks = {
    async trust(task: Omit<TrustTask, 'kind'>) {
      tasks.push(task)
      return performTrustCheck(patternsInThread, { kind: 'trust', ...task })
    },
  }
  let runs = 0
  const deps = { authUrl: issuer, patterns: patternsOnLoop, checks }
  const trusting = await withTrustDecisions(deps, 'caller', async (decisions) => {
    runs++
    return decisions.trusting(identities, subjects)
  })
  return { tasks, runs, trusting, compiledOnLoop: patternsOnLoop.size }
}

test('expensive patterns are never matched on the event loop, and only a few of them in threads', async () => {
  const identities = Array.from({ length: 100 }, (_, at) => identityWith(`${costlyPattern}${at}`, at))
  const { tasks, runs, trusting, compiledOnLoop } = await decide(identities, longUids)
  assert.equal(compiledOnLoop, 0)
  assert.equal(runs, 2)
  assert.equal(tasks.length, 1)
  const matchesInThread = tasks[0]?.subjects.length ?? 0
  assert.ok(matchesInThread > 0 && matchesInThread < 10, `${matchesInThread} of 5000 matches`)
  assert.equal(trusting.length, 100, 'pairs that are too expensive to match count as trust')
})

test('ordinary patterns are matched exactly, whatever their number', async () => {
  const root = '1'.repeat(40)
  const uids = Array.from({ length: 3 }, (_, at) => `${root}/${at}${'a'.repeat(15)}`)
  const identities = Array.from({ length: 100 }, (_, at) =>
    identityWith(at % 2 === 0 ? `${root}/.+` : `${root}/f[0-9a-f/]+`, at),
  )
  const { trusting } = await decide(identities, uids)
  assert.deepEqual(
    trusting,
    identities.filter((_, at) => at % 2 === 0),
  )
})

test('the estimated cost of a match grows with the length of the pattern, its repeats and the length of the text', () => {
  const cost = (pattern: string, subject: string) => trustCost(identityWith(pattern, 0), issuer)(subject)
  assert.ok(cost('a.{0,100}', 'abc') > 10 * cost('a.', 'abc'))
  assert.ok(cost('(a.)\\Q\\E{10}\\Q\\E{10}', 'abc') > 50 * cost('(a.)', 'abc'))
  assert.ok(cost(costlyPattern, 'a'.repeat(500)) > 5 * cost(costlyPattern, 'a'.repeat(10)))
  const nested = `${'('.repeat(300)}https://a\\.b/${')'.repeat(300)}`
  assert.ok(cost(nested, 'a') > 300_000, 'each level of parentheses is parsed again')
})
