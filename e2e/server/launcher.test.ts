// The launchers: which processes a program consists of, and which signals, flags and exit codes pass through.
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { after, before, describe, test } from 'node:test'
import { wantedMajor } from '../../scripts/pinned-node.mjs'
import { allocatorEnvironment } from '../../server/bin/node-flags.mjs'
import type { Program } from './stemmad.ts'
import {
  machineProgram,
  pause,
  remove,
  runStemmad,
  serve,
  statusOf,
  temporaryFolder,
  until,
} from './stemmad.ts'

const root = join(import.meta.dirname, '../..')
const timeout = { timeout: 240_000 }
const { execPath } = process
const { launcher } = machineProgram
const onWindows = process.platform === 'win32' ? 'Windows has neither execve nor process groups' : false

const majorOf = (node: string) =>
  Number(spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout.split('.')[0])

/**
 * The Nodes on which the launcher runs here. On the Node of the tests, the server replaces the launcher. On the Node of
 * the machine, if it is another version, the launcher starts the Node of the tests as a child process.
 */
const nodes = [execPath]
if (machineProgram.node !== execPath && majorOf(machineProgram.node) !== wantedMajor)
  nodes.push(machineProgram.node)

/** The child processes of a process, with their arguments. */
function childrenOf(pid: number): { pid: number; args: string }[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
  return stdout.split('\n').flatMap((line) => {
    const [, child, parent, args = ''] = /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? []
    return Number(parent) === pid ? [{ pid: Number(child), args }] : []
  })
}

const argsOf = (pid: number) =>
  spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout

/** Prints the flags of Node each time it starts: for the launcher, and again if the launcher starts Node. */
const printFlags = `data:text/javascript,console.error(JSON.stringify(process.execArgv))`
const printArenas = `data:text/javascript,console.error('arenas',process.env.MALLOC_ARENA_MAX)`

describe('the launcher of stemmad', { ...timeout, skip: onWindows }, () => {
  let folder: string
  before(async () => {
    folder = await temporaryFolder()
  })
  after(() => remove(folder))

  test('is replaced by the server if its Node is the right one', async (t) => {
    const server = await serve(folder, ['--drain-delay', '0'], { node: execPath, launcher })
    t.after(() => server.signal('SIGKILL', true))
    assert.deepEqual(childrenOf(server.pid), [])
    server.signal('SIGTERM')
    assert.equal((await server.exited).code, 0)
    assert.ok(server.log().some(({ msg }) => msg === 'stopping'))
  })

  test('starts one child process if its Node is another version, and ends with it', {
    skip: nodes.length === 1 && 'the Node of this machine is the right one',
  }, async (t) => {
    const server = await serve(folder, ['--drain-delay', '0'], machineProgram)
    t.after(() => server.signal('SIGKILL', true))
    const children = childrenOf(server.pid)
    assert.equal(children.length, 1)
    assert.deepEqual(childrenOf(children[0]?.pid ?? 0), [])
    server.signal('SIGTERM')
    assert.equal((await server.exited).code, 0)
  })

  for (const node of nodes) {
    const program: Program = { node, launcher }
    const kind = node === execPath ? 'in one process' : 'with a child process'

    test(`sets the young generation size of each command and exits with its code, ${kind}`, async () => {
      const env = { NODE_OPTIONS: `--import "${printFlags}"` }
      for (const [args, megabytes, expectedCode] of [
        [['import', '--help'], 4, 0],
        [['migrate', '--data-dir', '/dev/null'], 8, 1],
        [['token'], 8, 2],
      ] as const) {
        const { code, stderr } = await runStemmad(folder, [...args], env, undefined, program)
        const flagLines = stderr.split('\n').filter((line) => line.startsWith('['))
        assert.equal(flagLines.length, 2)
        assert.ok(JSON.parse(flagLines[1] ?? '').includes(`--max-semi-space-size=${megabytes}`), stderr)
        assert.equal(code, expectedCode, stderr)
      }
    })

    test(`limits the arenas of the allocator, unless the environment does, ${kind}`, async () => {
      const arenasWith = async (settings: Record<string, string>) => {
        const env = { NODE_OPTIONS: `--import "${printArenas}"`, ...settings }
        const { stderr } = await runStemmad(folder, ['import', '--help'], env, undefined, program)
        return stderr.match(/(?<=arenas )\w+/g)
      }
      assert.deepEqual(await arenasWith({}), ['undefined', allocatorEnvironment.MALLOC_ARENA_MAX])
      assert.deepEqual(await arenasWith({ MALLOC_ARENA_MAX: '9' }), ['9', '9'])
    })

    test(`ends by the signal that ends the command, ${kind}`, async () => {
      // This command waits for its standard input.
      const args = [launcher, 'users', 'add', 'ada@example.com', '--password-file', '-']
      const child = spawn(node, args, { cwd: folder, stdio: ['pipe', 'ignore', 'ignore'] })
      const pid = child.pid as number // it has started
      await until(() =>
        [argsOf(pid), ...childrenOf(pid).map(({ args }) => args)].join().includes('start.mjs'),
      )
      child.kill('SIGTERM')
      assert.deepEqual(await once(child, 'exit'), [null, 'SIGTERM'])
    })

    test(`stops the server when the shell of npm start ends, ${kind}`, async (t) => {
      const { child, output } = await serveInShell(t, node, folder, 'start')
      child.kill('SIGTERM')
      // The server has the same standard output, which is closed when it has ended.
      await once(child, 'close')
      assert.match(output(), /"msg":"stopping"/)
    })

    test(`goes on serving when the shell of another script ends, ${kind}`, async (t) => {
      const { child, output, killGroup } = await serveInShell(t, node, folder, 'pretest')
      child.kill('SIGTERM')
      await once(child, 'exit')
      await pause(500)
      assert.equal(await statusOf(`${urlIn(output())}/healthz`), 200)
      killGroup()
      await once(child, 'close')
    })
  }
})

for (const shell of ['/bin/dash', '/bin/bash'].filter(existsSync)) {
  describe(`npm with ${shell}`, { ...timeout, skip: onWindows }, () => {
    let folder: string
    before(async () => {
      folder = await temporaryFolder()
    })
    after(() => remove(folder))

    for (const [command, args] of [
      ['npm start', ['start', '--']],
      ['npx stemmad', ['exec', '--no', '--', 'stemmad', 'serve']],
    ] as const) {
      test(`${command} stops on SIGTERM`, async () => {
        const npm = [process.env.npm_execpath ?? '', ...args, ...settings(folder)]
        const env = { ...environment(folder), npm_config_script_shell: shell }
        const child = spawn(execPath, npm, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
        const output = await untilServing(child)
        child.kill('SIGTERM')
        await once(child, 'close')
        assert.match(output(), /"msg":"stopping"/)
      })
    }
  })
}

describe('pinned-node.mjs', { ...timeout, skip: onWindows }, () => {
  const pinnedNode = join(root, 'scripts/pinned-node.mjs')

  test('runs a script in the same process, with the arguments and exit code of the script', async () => {
    const script = 'console.log(process.pid, process.argv[1]); process.exitCode = 3'
    const child = spawn(execPath, [pinnedNode, '-e', script, 'argument'])
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    assert.deepEqual([output, code], [`${child.pid} argument\n`, 3])
  })

  test('runs the server of npm start without starting Node a second time, and without warnings', async () => {
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    const [node, ...args] = scripts.start.split(' ')
    assert.equal(node, 'node')
    const folder = await temporaryFolder()
    const unknownHost = ['--host', '203.0.113.1', ...settings(folder)]
    const child = spawn(execPath, ['--import', printFlags, ...args, ...unknownHost], { cwd: root })
    const [output] = await Promise.all([text(child.stderr), text(child.stdout), once(child, 'exit')])
    const [flags, ...errors] = output.trim().split('\n')
    assert.match(flags ?? '', /max-semi-space-size/)
    assert.match(errors.join(), /EADDRNOTAVAIL/)
    assert.equal(errors.length, 1, output)
    await remove(folder)
  })

  test('runs stemma without starting Node a second time', async () => {
    const args = ['--import', printFlags, join(root, 'cli/bin/stemma.mjs'), '--version']
    const child = spawn(execPath, args)
    const [output, flags] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    assert.match(output, /^\d+\.\d+\.\d+\n$/)
    assert.equal(flags.trim().split('\n').length, 1)
  })
})

const settings = (folder: string) => [
  ...['--port', '0', '--data-dir', join(folder, 'data'), '--drain-delay', '0'],
  ...['--base-url', 'http://stemma.test'],
]
const environment = (folder: string) => ({ PATH: process.env.PATH, HOME: folder })

/** Starts a server as npm does for one of its scripts, in a shell that waits for it. Both end with the test. */
async function serveInShell(t: TestContext, node: string, folder: string, script: string) {
  const command = [node, launcher, 'serve', ...settings(folder)]
  const child = spawn('/bin/sh', ['-c', '"$@"; exit', 'sh', ...command], {
    env: { ...environment(folder), npm_lifecycle_event: script },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const killGroup = () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL') // it has started
    } catch {
      // All processes of the group have ended.
    }
  }
  t.after(killGroup)
  return { child, output: await untilServing(child), killGroup }
}

/** Resolves when the server has printed its address, to a function that returns the output so far. */
async function untilServing(child: ChildProcess): Promise<() => string> {
  let output = ''
  child.stdout?.on('data', (chunk) => (output += chunk))
  await until(() => {
    assert.equal(child.exitCode, null, output)
    return output.includes('Ctrl-C')
  })
  return () => output
}

const urlIn = (greeting: string) => `http://127.0.0.1:${/on 127\.0\.0\.1:(\d+)/.exec(greeting)?.[1]}`
