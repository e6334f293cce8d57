// Clients that request long lists of v1 and do not read them neither fill the memory of the server nor delay others.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2'
import { connect } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { after, before, test } from 'node:test'
import { create, fromBinary } from '@bufbuild/protobuf'
import { GroupListSchema, Groups } from '@stemma/api/gen/platform/iam/group_pb.ts'
import { GroupSchema, GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { groups } from '../../server/resources/iam/groups/table.ts'
import { sql } from '../../server/store/sql.ts'
import { restDoor } from '../../server/testing/doors.ts'
import { copyGroup } from '../../server/testing/group-copies.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { onEachStore } from '../../server/testing/stores.ts'

/**
 * The API accepts only descriptions of 512 characters, but a list of longer rows needs fewer of them, which takes less
 * time.
 */
const description = 'x'.repeat(4096)
/** With this one, the list is about 5.5 MB, more than fits into the buffers between server and client (Linux: 4.3 MB). */
const longDescription = 'x'.repeat(12_288)
/** Copies of a group. Their list is about 1.9 MB. */
const copyCount = 440
/** The copies, the group that is copied, and the organization. */
const groupCount = copyCount + 2
/** The parts in which a server sends the list with long descriptions. */
const partCount = 70

/**
 * A caller, and an organization, can leave one list unread. All organizations together can leave
 * two; then there is no room for a page of 200 copies.
 */
const unsentLimits = { perCaller: 3.4e6, perOrganization: 3.4e6, total: 4.2e6 }

onEachStore('long lists of v1', (engine) => {
  let platform: Platform
  before(async () => {
    platform = await startPlatform(engine, [], { unsentLimits })
    await addCopies(platform.owner.organization, copyCount)
  })
  after(() => platform.stop())

  async function addCopies(organization: string, count: number, text = description): Promise<void> {
    const group = create(GroupSchema, { name: 'copied', description: text })
    const uid = newChildUid(organization, Date.now(), randomBytes)
    await platform.store.write(() => createEntry(operatorAccess, groups, group, { uid, now: Date.now() }))
    await copyGroup(platform.store, uid, count)
  }

  const removeCopies = () =>
    platform.store.write(function* () {
      yield sql`delete from groups where uid like ${'%/000000000%'}`
    })

  async function assertOthersAreAnswered(): Promise<void> {
    const { url, owner } = platform
    const { body } = await restDoor(url).call(
      GroupsService.method.getGroup,
      { uid: owner.organization },
      owner.token,
    )
    assert.equal(body?.uid, owner.organization)
  }

  /** Asks for the list of v1, and reads nothing of the response but its head. */
  async function startList(method = 'GET'): Promise<IncomingMessage> {
    const headers = { authorization: `Bearer ${platform.owner.token}` }
    const sent = request(`${platform.url}/iam/v1/groups`, { method, headers, agent: false }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return response.pause()
  }

  /**
   * Asks for the list of v1, and reads only the first bytes of the response. Linux gives a client that reads more a larger
   * buffer, which may be larger than the list, depending on how fast the client is.
   */
  async function leaveUnread() {
    const chunks: Buffer[] = []
    const started = Promise.withResolvers<void>()
    const socket = connectTcp({
      ...{ port: platform.app.port, host: '127.0.0.1' },
      onread: {
        buffer: () => Buffer.alloc(chunks.length === 0 ? 16 : 65_536),
        callback(size, buffer) {
          chunks.push(Buffer.from(buffer.subarray(0, size)))
          started.resolve()
          return chunks.length > 1
        },
      },
    })
    const authorization = `Bearer ${platform.owner.token}`
    // The response to a request of HTTP/1.0 is not chunked.
    socket.write(
      `GET /iam/v1/groups HTTP/1.0\r\nHost: stemma.test\r\nAuthorization: ${authorization}\r\n\r\n`,
    )
    await started.promise
    return {
      async readBody(): Promise<string> {
        socket.resume()
        await once(socket, 'close')
        const response = Buffer.concat(chunks)
        return response.toString('utf8', response.indexOf('\r\n\r\n') + 4)
      },
    }
  }

  async function countItems(response: IncomingMessage): Promise<number> {
    const text = Buffer.concat(await response.toArray()).toString()
    return (JSON.parse(text) as { items: unknown[] }).items.length
  }

  function startOverGrpc(session: ClientHttp2Session, { token } = platform.owner): ClientHttp2Stream {
    const stream = session.request({
      ...{ ':method': 'POST', ':path': `/${Groups.typeName}/List` },
      ...{ 'content-type': 'application/grpc', te: 'trailers' },
      authorization: `Bearer ${token}`,
    })
    stream.on('error', () => {})
    return stream.end(Buffer.alloc(5))
  }

  function listOverGrpc(session: ClientHttp2Session, caller = platform.owner): Promise<'refused' | 'waits'> {
    const stream = startOverGrpc(session, caller)
    return new Promise((resolve) => {
      stream.once('response', (head) => resolve(head['grpc-status'] === '8' ? 'refused' : 'waits'))
    })
  }

  test('are sent completely, over REST and gRPC, as often as a caller asks', async () => {
    assert.equal(await countItems(await startList()), groupCount)
    assert.equal(await countItems(await startList()), groupCount)
    const head = await startList('HEAD')
    assert.equal(head.statusCode, 200)
    head.resume()
    // Both lists together have more bytes than a caller may leave unread.
    const session = connect(platform.url)
    for (let times = 0; times < 2; times++) {
      const stream = startOverGrpc(session)
      const bytes = Buffer.concat(await stream.toArray())
      const list = fromBinary(GroupListSchema, bytes.subarray(5))
      assert.equal(list.items.length, groupCount)
    }
    session.destroy()
  })

  test('are refused over gRPC while the caller leaves too many bytes unread', async () => {
    // With this window, no byte of a message can be sent.
    const session = connect(platform.url, { settings: { initialWindowSize: 0 } })
    session.on('error', () => {})
    const outcomes = await Promise.all([listOverGrpc(session), listOverGrpc(session)])
    assert.ok(outcomes.includes('refused'))
    await assertOthersAreAnswered()
    session.destroy()
    // After the disconnect, the unread bytes no longer count.
    const nextSession = connect(platform.url)
    while ((await listOverGrpc(nextSession)) === 'refused') await assertOthersAreAnswered()
    nextSession.destroy()
  })

  test('that identities of one organization leave unread do not make calls of others fail', async () => {
    const other = await platform.addOrganization('other')
    await addCopies(other.organization, 200)
    const session = connect(platform.url, { settings: { initialWindowSize: 0 } })
    session.on('error', () => {})
    const outcomes: string[] = []
    for (let times = 0; times < 2; times++) {
      const caller = await platform.addIdentity(platform.owner.organization, 'viewer')
      outcomes.push(await listOverGrpc(session, caller))
    }
    const headers = { authorization: `Bearer ${other.token}` }
    const page = await fetch(`${platform.url}/iam/v2beta1/groups?page_size=200`, { headers })
    session.destroy()
    assert.equal(page.status, 200, await page.text())
    assert.deepEqual(outcomes, ['waits', 'refused'])
  })

  test('are read from the store only as far as their clients read', async () => {
    await removeCopies()
    await addCopies(platform.owner.organization, copyCount, longDescription)
    const client = await leaveUnread()
    // A server that does not wait for its clients reads a part between two calls of others, which take turns with it.
    for (let calls = 0; calls < partCount; calls++) await assertOthersAreAnswered()
    // A list that is already in memory would still contain the rows that are deleted now.
    await removeCopies()
    const { items } = JSON.parse(await client.readBody()) as { items: unknown[] }
    assert.ok(items.length < copyCount, `${items.length} items were in memory`)
    await assertOthersAreAnswered()
  })
})
