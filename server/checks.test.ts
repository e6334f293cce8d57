import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openChecks } from './checks.ts'

/** The program of a thread that never answers. */
const stuckProgram = new URL(
  `data:text/javascript,import{parentPort}from'node:worker_threads';parentPort.on('message',()=>{})`,
)
const limits = { program: stuckProgram, maxThreads: 1, maxWaiting: 2, maxPerOwner: 1, timeLimitMs: 600_000 }
const task = { kind: 'issuer', identity: new Uint8Array(), issuer: 'https://x.test' } as const
const [acme, other] = ['a'.repeat(40), 'b'.repeat(40)]
const messageOf = (error: Error) => error.message

describe('checks', () => {
  test('limit how many tokens of one organization are matched at a time', async () => {
    const checks = openChecks(limits)
    const running = checks.match(task, `${acme}/0000000000000001`).catch(messageOf)
    await assert.rejects(checks.match(task, `${acme}/0000000000000002`), /too many texts are being checked/)
    await checks.close()
    assert.match(String(await running), /the server is stopping/)
  })

  test('of a readme are accepted while the queue for matching tokens is full', async () => {
    const checks = openChecks(limits)
    const uids = [acme, other, 'c'.repeat(40)].map((root) => `${root}/0000000000000001`)
    const matches = uids.map((uid) => checks.match(task, uid).catch(messageOf))
    await assert.rejects(checks.match(task, `${'d'.repeat(40)}/0000000000000001`), /too many texts/)
    const readme = checks.readmeFault('# hello', other).catch(messageOf)
    await checks.close()
    for (const message of [...(await Promise.all(matches)), await readme])
      assert.match(String(message), /the server is stopping/)
  })
})
