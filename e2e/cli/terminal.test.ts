// `stemma` at a terminal: colours, ages, prompts and Ctrl-C. One store is enough, because resources.test.ts makes the same
// calls on both.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { Client } from './client.ts'
import { openClient } from './client.ts'
import { atTerminal, noTerminalReason } from './terminal.ts'

describe('stemma at a terminal', { skip: noTerminalReason }, () => {
  let platform: Platform
  let client: Client
  before(async () => {
    platform = await startPlatform('sqlite')
    client = await openClient('inline')
  })
  after(async () => {
    await platform.stop()
    await client.remove()
  })

  const env = () => ({ HOME: client.home, STEMMA_API: platform.url, STEMMA_TOKEN: platform.owner.token })
  const answer = (keys: string) => ({ question: /\[y\/N\] $/, keys })
  const makeTeam = async () => {
    const { stdout } = await client.run(
      ['groups', 'create', '--parent', 'acme', '--name', 'team', '-o', 'uid'],
      '',
      env(),
    )
    return stdout.trim()
  }
  const exists = async (uid: string) => (await client.run(['groups', 'get', uid], '', env())).code === 0

  test('times are printed as ages, and table headers are dim unless colours are off', async () => {
    const { screen } = await atTerminal(['groups', 'list'], env())
    assert.match(
      screen,
      /^\x1b\[2mNAME {2}DESCRIPTION {2}AGE {2}UID\x1b\[22m\nacme {2}- {12}\d+s +[0-9a-f]{40}\n$/,
    )
    const plain = await atTerminal(['groups', 'list'], { ...env(), NO_COLOR: '1' })
    assert.match(plain.screen, /^NAME {2}DESCRIPTION {2}AGE {2}UID\nacme /)
    const single = await atTerminal(['groups', 'get', 'acme'], { ...env(), NO_COLOR: '1' })
    assert.match(single.screen, /createTime +\S+Z \(\d+s\)\n/)
  })

  test('a delete asks for confirmation, and does nothing without it', async () => {
    const uid = await makeTeam()
    for (const keys of ['n\r', '\r', '\x04']) {
      const { code, screen } = await atTerminal(['groups', 'delete', 'acme/team'], env(), answer(keys))
      assert.equal(code, 0)
      assert.ok(screen.startsWith(`Delete group "team" (${uid})? [y/N] `), screen)
      assert.match(screen, /Nothing was deleted\.\n$/)
    }
    assert.ok(await exists(uid))
    const { code, screen } = await atTerminal(['groups', 'delete', 'acme/team'], env(), answer('y\r'))
    assert.equal(code, 0)
    assert.match(screen, /Deleted 1 group\.\n$/)
    assert.ok(!(await exists(uid)))
  })

  test('a delete asks for confirmation if the resource cannot be read', async () => {
    const { identity, token } = await platform.addUser('leaver@example.com')
    await platform.bind(identity, 'registry.pull', platform.owner.organization)
    const bindings = ['role-bindings', 'list', '--identity', identity, '-o', 'uid']
    const uid = (await client.run(bindings, '', env())).stdout.trim()
    // The person may not read the role binding. After its deletion, the owner does not find it.
    for (const caller of [token, platform.owner.token]) {
      const { code, screen } = await atTerminal(
        ['role-bindings', 'delete', uid],
        { ...env(), STEMMA_TOKEN: caller },
        answer('y\r'),
      )
      assert.equal(code, 0, screen)
      assert.ok(screen.startsWith(`Delete role binding ${uid}? [y/N] `), screen)
      assert.match(screen, /Deleted 1 role binding\.\n$/)
    }
  })

  test('--yes skips the confirmation', async () => {
    const { code, screen } = await atTerminal(['groups', 'delete', await makeTeam(), '--yes'], env())
    assert.deepEqual([code, screen], [0, 'Deleted 1 group.\n'])
  })

  test('Ctrl-C exits silently and deletes nothing', async () => {
    const uid = await makeTeam()
    const { code, screen } = await atTerminal(['groups', 'delete', uid], env(), answer('\x03'))
    assert.equal(code, 130)
    assert.match(screen, /\[y\/N\] (?:\^C)?\n?$/)
    assert.ok(await exists(uid))
  })

  test('audit tail prints times, because ages would become wrong while they stay on the terminal', async () => {
    await makeTeam()
    const end = { question: / {2}by /, keys: '\x03' }
    const tail = ['audit', 'tail', 'acme', '--since', '1h']
    const { screen } = await atTerminal(tail, { ...env(), NO_COLOR: '1' }, end)
    assert.match(screen, /^20\S+Z {2}\w/)
  })
})
