// Text of callers that takes long to check: readmes and patterns. It is checked in threads, with limits.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService, IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import type { Overrides } from '../../server/app.ts'
import { openChecks } from '../../server/checks.ts'
import { identities } from '../../server/resources/iam/identities/table.ts'
import { createMany } from '../../server/testing/create-many.ts'
import type { Engine } from '../../server/testing/stores.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { ExchangePlatform } from '../sign-in/exchange-platform.ts'
import { startExchangePlatform } from '../sign-in/exchange-platform.ts'

const { createIdentity, updateIdentity } = IdentitiesService.method
const { createRepo, updateRepoReadme, getRepoReadme } = ReposService.method

/** A thread that never answers, like one that has too much to compute. */
const stuck = new URL(
  `data:text/javascript,import{parentPort}from'node:worker_threads';parentPort.on('message',()=>{for(;;);})`,
)

/** 1 KB of Markdown. The parser fills up short rows of a table, here with 20,000 empty cells. */
const wideTable = `${'|a'.repeat(200)}|\n${'|-'.repeat(200)}|\n${'|\n'.repeat(100)}`

/** A pattern that is too large to be matched on the event loop, but not too large to be accepted. */
const costly = `${'a?'.repeat(240)}a`

const violationOf = (error: { details?: JsonObject[] } | undefined) =>
  error?.details?.flatMap(
    ({ fieldViolations = [] }) => fieldViolations as { field: string; description: string }[],
  )[0]

/** Signs with ES256, since an RSA key takes longer to generate than most of these tests take. */
const startWithEs256 = (engine: Engine, overrides?: Overrides) =>
  startExchangePlatform(engine, overrides, 'ES256')

onEachStore('text that is expensive to check', (engine) => {
  describe('does not delay others while a thread is busy', () => {
    let setUp: ExchangePlatform
    let isStopped = false
    before(async () => {
      setUp = await startWithEs256(engine, {
        checkLimits: { program: stuck, timeLimitMs: 600_000, maxPerOwner: 1 },
        drainTimeoutMs: 0,
      })
    })
    after(() => isStopped || setUp.stop())

    test('and is aborted when the server stops', async () => {
      const { platform, doors, issuer } = setUp
      const { token, organization: parent } = platform.owner
      const [rest, grpc] = doors
      const repo = (await setUp.callAsOwner(createRepo, { parent, repo: { name: 'app' } })).uid as string
      let answered = 0
      const countAnswer = <T>(outcome: T) => {
        answered++
        return outcome
      }
      const readme = { repoReadme: { uid: repo, content: 'text' } }
      const busy = [rest.call(updateRepoReadme, readme, token).then(countAnswer)]
      const stranger = await platform.addOrganization('stranger')
      const claimMatch = { issuer: issuer.issuer, subjectPattern: 'a+' }
      const theirs = { parent: stranger.organization, identity: { name: 'x', claimMatch } }
      busy.push(grpc.call(createIdentity, theirs, stranger.token).then(countAnswer))
      for (const door of doors) {
        for (let count = 0; count < 10; count++)
          assert.ok((await door.call(GroupsService.method.listGroups, {}, token)).body)
        // Each caller may have one check at a time here. A call without permission starts no check.
        const again = await door.call(updateRepoReadme, readme, token)
        assert.equal(again.error?.code, 8, again.error?.message)
        const forbidden = await door.call(updateRepoReadme, readme, stranger.token)
        assert.equal(forbidden.error?.code, 7)
        const inOrganizationOfOwner = { parent, identity: { name: 'x', claimMatch } }
        assert.equal((await door.call(createIdentity, inOrganizationOfOwner, stranger.token)).error?.code, 7)
      }
      assert.equal(answered, 0)
      const outcomes = Promise.all(busy)
      isStopped = true
      await setUp.stop()
      for (const { error } of await outcomes) assert.equal(error?.code, 14, error?.message)
    })
  })

  test('is refused with a clear error after the time limit', async () => {
    const setUp = await startWithEs256(engine, { checkLimits: { program: stuck, timeLimitMs: 1 } })
    try {
      const { token, organization: parent } = setUp.platform.owner
      const repo = (await setUp.callAsOwner(createRepo, { parent, repo: { name: 'app' } })).uid as string
      for (const door of setUp.doors) {
        const { error } = await door.call(
          updateRepoReadme,
          { repoReadme: { uid: repo, content: 'x' } },
          token,
        )
        assert.equal(violationOf(error as never)?.field ?? error?.message, 'content')
        assert.match(error?.message ?? '', /is too complex to be checked; make it simpler/)
        const claimMatch = { issuer: setUp.issuer.issuer, subjectPattern: 'a+' }
        const created = await door.call(
          createIdentity,
          { parent, identity: { name: 'x', claimMatch } },
          token,
        )
        assert.match(created.error?.message ?? '', /[pP]attern: is too complex; make it simpler/)
      }
    } finally {
      await setUp.stop()
    }
  })

  test('is checked in an update only if the update changes how the identity is recognised', async () => {
    const setUp = await startWithEs256(engine)
    try {
      const { token, organization } = setUp.platform.owner
      const uid = `${organization}/0000000000000001`
      // Earlier versions may have stored patterns that are refused now.
      const value = {
        iss: { case: 'issuer', value: setUp.issuer.issuer },
        sub: { case: 'subjectPattern', value: '(' },
      } as const
      const stored = create(IdentitySchema, { name: 'x', relationship: { case: 'claimMatch', value } })
      await setUp.platform.store.write(() => createMany(identities, [[stored, { uid, now: Date.now() }]]))
      for (const door of setUp.doors) {
        const described = await door.call(updateIdentity, { identity: { uid, description: 'y' } }, token)
        assert.equal(described.error?.message, undefined)
        const changed = { uid, claimMatch: { subjectPattern: '[' } }
        const { error } = await door.call(updateIdentity, { identity: changed }, token)
        assert.match(error?.message ?? '', /[pP]attern: must be an RE2 regular expression/)
      }
    } finally {
      await setUp.stop()
    }
  })
})

// On SQLite only, since the threads do not use the store.
describe('text that takes much time or memory to check', () => {
  describe('is refused', () => {
    let setUp: ExchangePlatform
    let repo: string
    before(async () => {
      setUp = await startWithEs256('sqlite')
      const parent = setUp.platform.owner.organization
      repo = (await setUp.callAsOwner(createRepo, { parent, repo: { name: 'app' } })).uid as string
    })
    after(() => setUp.stop())

    test('if a readme has too many elements', async () => {
      const { token, organization } = setUp.platform.owner
      for (const door of setUp.doors) {
        const request = { repoReadme: { uid: repo, content: wideTable } }
        const { error } = await door.call(updateRepoReadme, request, token)
        assert.equal(error?.code, 3, error?.message)
        assert.match(error?.message ?? '', /content: must not have more than 10000 elements/)
        const old = { parentId: organization, repo: { name: 'old', readme: wideTable } }
        const v1 = await door.call(Registry.method.createRepo, old, token)
        assert.match(v1.error?.message ?? '', /readme: must not have more than/)
      }
      assert.equal((await setUp.callAsOwner(getRepoReadme, { uid: repo })).content, '')
    })

    test('if a readme becomes too much HTML', async () => {
      const content = `[a]: http://x/${'y'.repeat(500)}\n\n${'[a] '.repeat(10_000)}`
      for (const door of setUp.doors) {
        const request = { repoReadme: { uid: repo, content } }
        const { error } = await door.call(updateRepoReadme, request, setUp.platform.owner.token)
        assert.equal(error?.code, 3, error?.message)
        assert.match(error?.message ?? '', /content: must not become more than 524288 characters of HTML/)
      }
    })

    test('if a readme nests HTML too deeply, even with end tags that close no element', async () => {
      const { token } = setUp.platform.owner
      for (const content of [
        '<b>'.repeat(101),
        '<b></i>'.repeat(101),
        '<b></B></b>'.repeat(9) + '<i></b>'.repeat(101),
        `<div>${'<div><!--</div>-->'.repeat(3000)}`,
        `<div>${'<div title="</div>">'.repeat(3000)}`,
      ])
        for (const door of setUp.doors) {
          const { error } = await door.call(updateRepoReadme, { repoReadme: { uid: repo, content } }, token)
          assert.match(error?.message ?? '', /content: must not nest HTML deeper than 100 levels/)
        }
      const flat = '<b>a</b><br><p>c</p>'.repeat(200)
      await setUp.callAsOwner(updateRepoReadme, { repoReadme: { uid: repo, content: flat } })
      await setUp.callAsOwner(updateRepoReadme, { repoReadme: { uid: repo, content: '' } })
    })

    test('if a pattern has too many classes of characters', async () => {
      const { token, organization: parent } = setUp.platform.owner
      for (const subjectPattern of ['\\p{L}'.repeat(60), '[^a]'.repeat(60), `(?i)[${'\\PL'.repeat(60)}]`])
        for (const door of setUp.doors) {
          const identity = { name: 'x', claimMatch: { issuer: setUp.issuer.issuer, subjectPattern } }
          const { error } = await door.call(createIdentity, { parent, identity }, token)
          assert.equal(error?.code, 3, error?.message)
          assert.match(error?.message ?? '', /each class such as .* adds \d+/)
        }
    })

    test('if the expanded length of a pattern is too large because of repeats, or of ranges whose case is ignored', async () => {
      const { token, organization: parent } = setUp.platform.owner
      const repeated = `(${'a'.repeat(239)})${'\\Q\\E{10}'.repeat(3)}`
      for (const subjectPattern of [repeated, `(?i)[${'B-\u{1e943}'.repeat(60)}]`])
        for (const door of setUp.doors) {
          const identity = { name: 'x', claimMatch: { issuer: setUp.issuer.issuer, subjectPattern } }
          const { error } = await door.call(createIdentity, { parent, identity }, token)
          assert.equal(error?.code, 3, error?.message)
          assert.match(error?.message ?? '', /must have at most 700 characters/)
        }
    })

    test('unless it is a pattern within the limits, which is accepted and then matches subjects', async () => {
      const issuer = setUp.issuer.issuer
      const { uid } = await setUp.createIdentity({ claimMatch: { issuer, subjectPattern: costly } })
      for (const door of setUp.doors) {
        const call = async (sub: string) =>
          door.call(SecurityTokenService.method.exchange, { identity: uid }, await setUp.issuer.sign({ sub }))
        assert.ok((await call('a'.repeat(100))).body?.token)
        assert.equal((await call('a'.repeat(300))).error?.code, 7)
        assert.equal((await call('b')).error?.code, 7)
      }
    })
  })

  test('ends only its thread if it needs more memory than a thread has, and the server answers others', async () => {
    // By default a thread has 80 MB. This readme needs 24 MB, and a small one less than 16 MB.
    const emphasized = '*a* '.repeat(16_000)
    const checkLimits = { maxHeapMb: 18, maxThreads: 1, timeLimitMs: 600_000 }
    const setUp = await startWithEs256('sqlite', { checkLimits })
    try {
      const { token, organization: parent } = setUp.platform.owner
      const repo = (await setUp.callAsOwner(createRepo, { parent, repo: { name: 'app' } })).uid as string
      // Both doors use the same threads.
      const [door] = setUp.doors
      const update = (content: string) =>
        door.call(updateRepoReadme, { repoReadme: { uid: repo, content } }, token)
      const refused = update(emphasized)
      assert.ok((await door.call(GroupsService.method.listGroups, {}, token)).body)
      const { error } = await refused
      assert.equal(error?.code, 3, error?.message)
      assert.match(error?.message ?? '', /content: is too complex to be checked; make it simpler/)
      // The thread was replaced.
      assert.equal((await update('# simple')).body?.content, '# simple')
    } finally {
      await setUp.stop()
    }
  })
})

test('a match that takes too long is refused with the reason', async () => {
  const checks = openChecks({ program: stuck, timeLimitMs: 1 })
  const task = { kind: 'issuer', identity: new Uint8Array(), issuer: 'x' } as const
  await assert.rejects(checks.match(task, 'robot'), /the patterns of this identity take too long to match/)
  await checks.close()
})
