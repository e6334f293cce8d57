// A server with several workers, on both stores: whichever worker has a connection, its calls see the same data.
import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { dirname, extname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { JsonObject } from '@bufbuild/protobuf'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { parentOf } from '../../server/aip/uid.ts'
import { serverProgram } from '../../server/bin/program.mjs'
import { readConfig } from '../../server/config/config.ts'
import { openLog } from '../../server/log.ts'
import { supervisionOf } from '../../server/start-workers.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import type { Store } from '../../server/store/db.ts'
import { sql } from '../../server/store/sql.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { TestIdentity } from '../../server/testing/identities.ts'
import { openTestIdentities } from '../../server/testing/identities.ts'
import type { TemporaryStore } from '../../server/testing/stores.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import { preparedStore } from '../../server/testing/templates.ts'
import type { Supervisor } from '../../server/workers/supervisor.ts'
import { startWorkers } from '../../server/workers/supervisor.ts'
import { digestOf, ociClient, pushParts } from '../registry/oci-client.ts'

const workerCount = 2
const main = serverProgram()
/** The program of a worker in the bundle, because a worker from the sources takes 0.6 seconds of CPU time to start. */
const workerProgram = join(dirname(main), `worker-thread${extname(main)}`)
const { createGroup, getGroup, updateGroup, deleteGroup, listGroups } = GroupsService.method

type Response = { status: number; body: { uid?: string; totalCount?: string; code?: number } }

onEachStore('a server with several workers', (engine) => {
  let temporary: TemporaryStore
  let store: Store
  let server: Supervisor
  let owner: TestIdentity
  let url: string
  /** The current worker of each index. */
  const workers: Worker[] = []

  before(async () => {
    temporary = await preparedStore(engine)
    const settings = ['--port', '0', '--base-url', 'http://stemma.test', '--log-level', 'silent']
    const { config } = readConfig({}, [
      ...temporary.settings,
      ...settings,
      ...['--drain-delay', '0', '--workers', String(workerCount)],
    ])
    store = openStore(config)
    const { keys } = await prepareStore(config, store)
    owner = await openTestIdentities({ store, config, keys, now: Date.now }).addOrganization('acme')
    const supervision = supervisionOf(config, undefined, workerProgram)
    server = await startWorkers({
      ...supervision,
      log: openLog('silent'),
      restartDelayMs: 0,
      startThread(index, port) {
        const worker = supervision.startThread(index, port)
        workers[index] = worker
        return worker
      },
    })
    url = `http://127.0.0.1:${server.port}`
  })
  after(async () => {
    await server?.stop(true)
    await store?.close()
    await temporary?.remove()
  })

  /** Sends a request on a new connection, which any worker may accept. */
  function send(method: string, path: string, body?: object, moreHeaders = {}): Promise<Response> {
    const agent = new Agent({ keepAlive: false })
    const headers = {
      authorization: `Bearer ${owner.token}`,
      'content-type': 'application/json',
      ...moreHeaders,
    }
    return new Promise((resolve, reject) => {
      const request = httpRequest(url + path, { method, headers, agent }, async (response) => {
        let text = ''
        for await (const chunk of response.setEncoding('utf8')) text += chunk
        resolve({ status: response.statusCode ?? 0, body: text.startsWith('{') ? JSON.parse(text) : {} })
      })
      request.on('error', reject)
      request.end(body && JSON.stringify(body))
    })
  }

  const groupsPath = '/iam/v2beta1/groups'
  const create = (name: string, headers = {}) =>
    send('POST', `${groupsPath}/${owner.organization}`, { name }, headers)
  const createWithKey = (name: string) => create(name, { 'idempotency-key': `"${name}"` })
  const countNamed = async (name: string) =>
    (await store.query(sql`select uid from groups where name = ${name}`)).length

  test('reads through any worker what was written through another', async () => {
    for (let at = 0; at < 20; at++) {
      const { body } = await create(`group ${at}`)
      const read = await send('GET', `${groupsPath}/${body.uid}`)
      assert.equal(read.status, 200)
      const list = await send('GET', `${groupsPath}?uidp.childrenOf=${owner.organization}`)
      assert.equal(list.body.totalCount, String(at + 1))
    }
  })

  test('changes and deletes resources through both doors', async () => {
    for (const door of [restDoor(url), grpcDoor(url), grpcDoor(url)]) {
      const call = async (...[method, request]: Parameters<typeof door.call>) => {
        const { body, error } = await door.call(method, request, owner.token)
        return body ?? assert.fail(error.message)
      }
      const created = await call(createGroup, { parent: owner.organization, group: { name: 'before' } })
      const uid = created.uid as string
      await call(updateGroup, { group: { uid, name: 'after' }, updateMask: 'name' })
      assert.equal((await call(getGroup, { uid })).name, 'after')
      await call(deleteGroup, { uid })
      const { error } = await door.call(getGroup, { uid }, owner.token)
      assert.equal(error?.code, 5)
      const invalid = await door.call(
        createGroup,
        { parent: owner.organization, group: { name: '' } },
        owner.token,
      )
      assert.equal(invalid.error?.code, 3)
      const foreign = await door.call(
        createGroup,
        { parent: 'f'.repeat(40), group: { name: 'x' } },
        owner.token,
      )
      assert.equal(foreign.error?.code, 7)
      door.close()
    }
  })

  test('reads the content of images in any thread', async () => {
    const client = ociClient(url, owner.token)
    const config = JSON.stringify({ os: 'linux', architecture: 'arm64', config: { User: 'nobody' } })
    const manifest = await pushParts(client, 'acme/web', 'v1', { config, layers: [] })
    // The worker that performed the push has read the configuration, to set the platforms of the tag.
    const tags = (await send('GET', '/registry/v2beta1/tags?name=v1')).body as { tags?: JsonObject[] }
    const [tag] = tags.tags ?? []
    assert.deepEqual(tag?.platforms, ['linux/arm64'])
    const repo = parentOf(String(tag?.uid))
    const path = `/registry/v1/repos/${repo}/digests/${digestOf(manifest)}/imageconfig`
    for (let at = 0; at < 2 * workerCount; at++)
      assert.equal(((await send('GET', path)).body as { user?: string }).user, 'nobody')
  })

  test('calls with one idempotency key through several workers create one resource', async () => {
    const answers = await Promise.all(Array.from({ length: 24 }, () => createWithKey('one key')))
    assert.equal(await countNamed('one key'), 1)
    const uids = answers.flatMap(({ status, body }) => (status === 200 ? [body.uid] : []))
    assert.equal(new Set(uids).size, 1)
    for (const { status } of answers) assert.ok([200, 409].includes(status), String(status))
    assert.equal((await createWithKey('one key')).body.uid, uids[0])
  })

  test('counts the calls of all workers in the metrics of each', async () => {
    const countOf = async () => {
      const text = await (await fetch(`${url}/metrics`)).text()
      return Number(/stemma_calls_total\{[^}]*ListGroups",door="rest",code="OK"\} (\d+)/.exec(text)?.[1] ?? 0)
    }
    const countBefore = await countOf()
    for (let at = 0; at < 30; at++) await send('GET', groupsPath)
    for (let at = 0; at < 10; at++) assert.equal(await countOf(), countBefore + 30)
  })

  describe('whose workers end, one after the other, while clients write', () => {
    /** The uids of the groups whose creation was acknowledged. */
    const acknowledged: string[] = []
    /** The names of the groups whose creation was repeated until it was acknowledged, always with the same key. */
    const createdOnce: string[] = []

    before(async () => {
      let isDone = false
      async function createUntilDone(client: number): Promise<void> {
        for (let at = 0; !isDone; at++) {
          const result = await failureAsUndefined(create(`client ${client} ${at}`))
          if (result?.status === 200) acknowledged.push(result.body.uid ?? '')
          else if (result) assert.equal(result.body.code, 14)
        }
      }
      async function createOnceUntilDone(client: number): Promise<void> {
        for (let at = 0; !isDone; ) {
          const name = `once ${client} ${at}`
          const result = await failureAsUndefined(createWithKey(name))
          if (result?.status === 200) {
            createdOnce.push(name)
            at++
          } else if (result) await pause(20)
        }
      }
      const clients = Array.from({ length: 4 }, (_, at) => [createUntilDone(at), createOnceUntilDone(at)])
      try {
        for (let index = 0; index < workerCount; index++) {
          const ended = workers[index]
          const enough = [acknowledged.length + 10, createdOnce.length + 10] as const
          await ended?.terminate()
          await until(
            () =>
              workers[index] !== ended && acknowledged.length > enough[0] && createdOnce.length > enough[1],
          )
        }
      } finally {
        isDone = true
        await Promise.all(clients.flat())
      }
    })

    test('replaces them, and loses no write that was acknowledged', async () => {
      for (const uid of acknowledged) assert.equal((await send('GET', `${groupsPath}/${uid}`)).status, 200)
      assert.ok((await restDoor(url).call(listGroups, {}, owner.token)).body)
    })

    test('performs a create only once if it is repeated with the same idempotency key', async () => {
      for (const name of createdOnce) assert.equal(await countNamed(name), 1, name)
    })
  })
})

/** A call fails if its worker ends. If no worker listens, calls fail at once, so the client pauses before the next. */
const failureAsUndefined = (response: Promise<Response>): Promise<Response | undefined> =>
  response.catch(() => pause(20))

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await pause(20)
}
