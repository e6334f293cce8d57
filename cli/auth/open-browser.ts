import { spawn } from 'node:child_process'
import type { Runtime } from '../runtime.ts'

const openers: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  // The same as `start`, but without a shell that would interpret the URL.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens a URL in the browser if a person uses this terminal and has a display. */
export function openBrowser({ protocol, href }: URL, { env, stderr }: Runtime): void {
  const hasDisplay = process.platform !== 'linux' || env.DISPLAY || env.WAYLAND_DISPLAY
  if (!stderr.isTTY || !hasDisplay || env.BROWSER === 'none') return
  // The URL comes from the server: other protocols could start programs on this machine.
  if (protocol !== 'https:' && protocol !== 'http:') return
  const [program, ...args] = openers[process.platform] ?? ['xdg-open']
  // An error is ignored: the URL was printed too.
  spawn(program, [...args, href], { detached: true, stdio: 'ignore' })
    .on('error', () => undefined)
    .unref()
}
