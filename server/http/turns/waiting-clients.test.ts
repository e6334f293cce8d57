import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2, constants } from 'node:http2'
import { after, before, describe, test } from 'node:test'
import type { TestDoor } from '../../testing/test-door.ts'
import { openTestDoor } from '../../testing/test-door.ts'
import type { StartCall, Turns } from './turns.ts'

describe('a call that waits for its turn', () => {
  const waiting: StartCall[] = []
  let isBusy = false
  let onWait = () => {}
  const turns: Turns = {
    run(partyOf, start) {
      assert.deepEqual(partyOf(), { group: '127.0', member: '127.0.0.1', weight: 1 })
      if (!isBusy) return void start()
      waiting.push(start)
      onWait()
    },
    wait: async () => {},
  }
  const performed: string[] = []
  let door: TestDoor
  before(async () => {
    door = await openTestDoor({ turns, act: ({ method }) => void performed.push(method) })
  })
  after(() => door.close())

  const untilWaiting = () =>
    new Promise<void>((resolve) => {
      onWait = resolve
    })
  function startAll(): void {
    isBusy = false
    for (const start of waiting.splice(0)) start()
  }
  async function assertAnswers(): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${door.port}/iam/v2beta1/groups/abc`)
    assert.equal(response.status, 200)
  }

  for (const code of [constants.NGHTTP2_INTERNAL_ERROR, constants.NGHTTP2_NO_ERROR])
    test(`is not performed if its gRPC client has reset it with the code ${code}`, async () => {
      performed.length = 0
      const session = connectHttp2(`http://127.0.0.1:${door.port}`)
      await once(session, 'remoteSettings')
      isBusy = true
      const isWaiting = untilWaiting()
      const stream = session.request({
        ...{ ':method': 'POST', ':path': '/platform.iam.v2beta1.GroupsService/ListGroups' },
        'content-type': 'application/grpc',
      })
      stream.on('error', () => {})
      await isWaiting
      stream.close(code)
      // The reset was received before the answer to this ping.
      await new Promise<void>((resolve) => session.ping(() => resolve()))
      startAll()
      await assertAnswers()
      assert.deepEqual(performed, ['GetGroup'])
      session.close()
    })
})
