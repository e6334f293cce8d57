// Retention of repos whose content was made to be expensive: it must not block other calls, nor fail.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Code } from '../../server/aip/code.ts'
import { retentionAccess } from '../../server/policy/system-access.ts'
import { applyRetention } from '../../server/resources/registry/repos/apply-retention.ts'
import { doomedManifests } from '../../server/resources/registry/repos/doomed-manifests.ts'
import { applyDueRetention } from '../../server/resources/registry/repos/due-retention.ts'
import { judgedTags, tagsPerRead } from '../../server/resources/registry/repos/judged-tags.ts'
import { pauseWithDeadline } from '../../server/resources/registry/repos/pause.ts'
import type { Store } from '../../server/store/db.ts'
import type { Sql } from '../../server/store/sql.ts'
import { sql } from '../../server/store/sql.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { sharedPlatform } from '../../server/testing/shared-platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { countingReads } from './counting-reads.ts'
import { digest, insertManifests, insertReferences, numbers } from './inserted-manifests.ts'
import { ociClient } from './oci-client.ts'

onEachStore('retention of hostile content', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await sharedPlatform(engine)
  })
  after(() => platform.stop())

  const execute = (...statements: Sql[]) =>
    platform.store.write(function* () {
      for (const statement of statements) yield statement
    })
  const pauseWithoutDeadline = pauseWithDeadline(Number.POSITIVE_INFINITY, Date.now)

  async function makeRepo(name: string): Promise<string> {
    await ociClient(platform.url, platform.owner.token).pushImage(`acme/${name}`, 'latest', 'layer')
    const [row] = await platform.store.query(sql`select uid from repos where name = ${name}`)
    const uid = row?.[0] as string
    await setRetention(uid, { deleteUntaggedAfter: '3600s' })
    return uid
  }
  async function setRetention(uid: string, retention: object): Promise<void> {
    const headers = { authorization: `Bearer ${platform.owner.token}`, 'content-type': 'application/json' }
    const url = `${platform.url}/registry/v2beta1/repos/${uid}`
    const body = JSON.stringify({ retention })
    assert.equal((await fetch(url, { method: 'PATCH', headers, body })).status, 200)
  }

  test('a preview reads each reference once, by database indexes, and lets other calls run between pages', async () => {
    const repo = await makeRepo('indexes')
    const [indexes, entries] = [40, 200]
    await execute(
      insertManifests(repo, [
        ...numbers(entries).map((at): [string, null] => [digest('b', at), null]),
        ...numbers(indexes).map((at): [string, null] => [digest('a', at), null]),
        ...numbers(1200).map((at): [string, string] => [digest('c', at), digest('a', 0)]),
      ]),
      insertReferences(
        repo,
        numbers(indexes * entries).map((at) => [
          digest('a', at % indexes),
          digest('b', Math.floor(at / indexes)),
        ]),
      ),
    )
    const { store, counted, stop } = countingReads(platform.store)
    const doomed = await doomedManifests(store, repo, 1, pauseWithoutDeadline)
    stop()
    assert.equal(doomed.length, indexes + entries + 1200)
    assert.ok(counted.rows <= indexes * entries + 3 * doomed.length, String(counted.rows))
    assert.equal(counted.turns.size, counted.reads)
    assert.deepEqual(
      [...counted.plans].filter((step) => /^SCAN (?!CONSTANT)|\(repo=\?\)$/.test(step)),
      [],
    )
    await execute(sql`delete from manifests where repo = ${repo} and create_time = 0`)
  })

  test('a preview pauses between pages of tags, and stops at its deadline', async () => {
    const repo = await makeRepo('tags')
    await execute(sql`insert into tags (uid, parent, root, name, digest, sort, create_time, update_time, proto,
        json, shape, push_time)
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${2 * tagsPerRead})
      select t.uid || '-' || n, parent, root, 'tag-' || n, digest, sort, create_time, update_time, proto, json,
        shape, n from tags t, numbers where t.parent = ${repo}`)
    const { store, counted, stop } = countingReads(platform.store)
    const judge = () => ({ isKept: true, reason: '' })
    const pages = await Array.fromAsync(judgedTags(store, repo, judge, pauseWithoutDeadline))
    assert.deepEqual([pages.flat().length, counted.reads], [2 * tagsPerRead + 1, 3])
    assert.equal(counted.turns.size, 3)
    let time = 0
    const late = Array.fromAsync(
      judgedTags(
        store,
        repo,
        judge,
        pauseWithDeadline(1, () => ++time),
      ),
    )
    await assert.rejects(late, { code: Code.DEADLINE_EXCEEDED })
    stop()
    assert.equal(counted.reads, 3 + 2, 'the third page was not read')
    await execute(sql`delete from tags where parent = ${repo} and name <> 'latest'`)
  })

  test('retention that is stopped reads no further pages', async () => {
    const repo = await makeRepo('stopped')
    const readsOf = async () => {
      const { store, counted, stop } = countingReads(platform.store)
      const signal = AbortSignal.abort()
      await applyRetention({ store, access: retentionAccess, now: Date.now, signal }, repo)
      stop()
      return counted.reads
    }
    assert.equal(await readsOf(), 1, 'the rules')
    await setRetention(repo, { rules: [{ keepMostRecent: 5000 }] })
    await execute(sql`insert into tags (uid, parent, root, name, digest, sort, create_time, update_time, proto,
        json, shape, push_time)
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${2 * tagsPerRead})
      select t.uid || '-' || n, parent, root, 'tag-' || n, digest, sort, create_time, update_time, proto, json,
        shape, n from tags t, numbers where t.parent = ${repo}`)
    assert.equal(await readsOf(), 2, 'the rules and one page of tags')
    await execute(sql`delete from tags where parent = ${repo} and name <> 'latest'`)
  })

  test('a long chain of referrers is deleted, with few statements in each transaction', async () => {
    const repo = await makeRepo('chain')
    const length = 250
    await execute(
      insertManifests(
        repo,
        numbers(length).map((at) => [digest('d', at), at === 0 ? null : digest('d', at - 1)]),
      ),
    )
    assert.equal((await doomedManifests(platform.store, repo, 1, pauseWithoutDeadline)).length, length)
    let most = 0
    const write: Store['write'] = (work, deadline) =>
      platform.store.write(function* () {
        const running = work()
        let count = 0
        let step = running.next()
        for (; !step.done; step = running.next(yield step.value)) count++
        most = Math.max(most, count)
        return step.value
      }, deadline)
    const store = { ...platform.store, write } as Store
    const deletions = await applyRetention({ store, access: retentionAccess, now: Date.now }, repo)
    assert.deepEqual(deletions, { tags: 0, manifests: length })
    assert.ok(most < 350, String(most))
  })

  test('a repo whose retention fails is reported and does not stop the others', async () => {
    const repos = [await makeRepo('broken'), await makeRepo('sound')]
    await execute(sql`update repos set retention_time = 1 where uid = ${repos[0] ?? ''}`)
    await execute(insertManifests(repos[1] ?? '', [[digest('e', 0), null]]))
    let isFirst = true
    const read: Store['read'] = (work) => {
      if (!isFirst) return platform.store.read(work)
      isFirst = false
      throw new RangeError('broken')
    }
    const failures: string[] = []
    const deps = { store: { ...platform.store, read } as Store, access: retentionAccess }
    const now = () => Date.now() + 7_200_000
    const { manifests } = await applyDueRetention({ ...deps, now }, 86_400_000, (error, repo) =>
      failures.push(`${repo} ${error}`),
    )
    assert.deepEqual(failures, [`${repos[0]} RangeError: broken`])
    assert.equal(manifests, 1)
  })
})
