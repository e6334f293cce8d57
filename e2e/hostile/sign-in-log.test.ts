// Callers without an account who try to fill the log with sign-in requests.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { freePort } from '../../api/testing/free-port.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import { rawClient } from '../../server/testing/raw-http.ts'
import { onEachStore } from '../../server/testing/stores.ts'
import type { CapturedLog } from '../server/captured-log.ts'
import { captureLog } from '../server/captured-log.ts'
import { begin, relyingParty } from '../sign-in/sign-in.ts'
import { Visitor } from '../sign-in/visitor.ts'

type Line = { level: number; msg: string; reason?: string; counts?: Record<string, number> }

const warningLevel = 40
const maxLines = 10

const linesOf = ({ written }: CapturedLog): Line[] =>
  written
    .join('')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

const warningsOf = (captured: CapturedLog) => linesOf(captured).filter(({ level }) => level >= warningLevel)

async function startLogged(engine: Parameters<typeof startPlatform>[0], captured: CapturedLog) {
  const url = `http://127.0.0.1:${await freePort()}`
  const args = ['--port', new URL(url).port, '--base-url', url]
  return startPlatform(engine, args, { refusalLog: { maxLines, periodMs: 1e9 } }, captured.log)
}

onEachStore('the log of refused sign-ins', (engine) => {
  test('has a limited number of lines for each network, and one line that counts the further refusals', async () => {
    const captured = captureLog('info')
    const platform = await startLogged(engine, captured)
    const form = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    }
    for (let count = 0; count < 30; count++) {
      const body = new URLSearchParams({ ...form, subject_token: `nonsense${count}` })
      const answer = await fetch(`${platform.url}/oauth/token`, { method: 'POST', body })
      assert.equal(answer.status, 400, await answer.text())
    }
    const visitor = new Visitor(platform.url)
    const page = await visitor.open((await begin(await relyingParty(platform.url))).url)
    for (let count = 0; count < 30; count++)
      assert.equal((await visitor.open(`${page.url}/callback?state=nonsense${count}`)).status, 401)
    await platform.stop()
    const lines = linesOf(captured)
    assert.equal(lines.filter(({ reason }) => reason !== undefined).length, maxLines)
    assert.deepEqual(
      lines.map(({ counts }) => counts).filter((counts) => counts !== undefined),
      [{ 'exchange refused': 30 - maxLines, 'sign-in failed': 30 }],
    )
    assert.deepEqual(warningsOf(captured), [])
  })
})

onEachStore('the log of sign-in has no warning about', (engine) => {
  let platform: Platform
  let captured: CapturedLog
  before(async () => {
    captured = captureLog('debug')
    platform = await startLogged(engine, captured)
  })
  beforeEach(() => void captured.written.splice(0))
  after(() => platform.stop())

  test('clients that reset their connection before they are answered', async () => {
    const request = 'GET /device HTTP/1.1\r\nHost: stemma.test\r\n\r\n'
    // A response that was sent before the reset arrived causes no error, so resets are repeated until one is logged.
    while (!linesOf(captured).some(({ msg }) => msg === 'client disconnected')) {
      for (let count = 0; count < 20; count++) {
        const { socket } = await rawClient(platform.app.port)
        socket.write(request, () => socket.resetAndDestroy())
      }
      await fetch(`${platform.url}/healthz`)
      assert.deepEqual(warningsOf(captured), [])
    }
  })

  test('a session that is too large', async () => {
    for (let count = 0; count < 20; count++)
      await (await fetch(`${platform.url}/oauth/logout?state=${'x'.repeat(7500)}`)).arrayBuffer()
    assert.deepEqual(warningsOf(captured), [])
  })

  test('a sign-in that becomes too large when it is cancelled', async () => {
    const visitor = new Visitor(platform.url)
    const party = await relyingParty(platform.url)
    const openWith = async (length: number) =>
      visitor.open((await begin(party, { skip_registration: 'x'.repeat(length) })).url)
    // Finds the longest parameter with which the sign-in page still opens.
    let [accepted, tooLong] = [3500, 7000]
    while (tooLong - accepted > 1) {
      const length = Math.floor((accepted + tooLong) / 2)
      if ((await openWith(length)).status === 200) accepted = length
      else tooLong = length
    }
    const end = await visitor.submitTo(await openWith(accepted), '/cancel')
    assert.equal(end.status, 400)
    assert.match(end.alert ?? end.text, /too large/)
    assert.deepEqual(warningsOf(captured), [])
  })
})
