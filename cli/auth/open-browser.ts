// The browser of the person who sits at this terminal, if there is one.
import { spawn } from 'node:child_process'

const openers: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  // What `start` does, without a shell that would read the address.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

export function openBrowser({ protocol, href }: URL, env: NodeJS.ProcessEnv): void {
  const isSeen = process.platform !== 'linux' || env.DISPLAY || env.WAYLAND_DISPLAY
  if (!process.stderr.isTTY || !isSeen || env.BROWSER === 'none') return
  // The server says where to go; a file or a program of this machine is no place for a sign-in.
  if (protocol !== 'https:' && protocol !== 'http:') return
  const [program, ...args] = openers[process.platform] ?? ['xdg-open']
  // The address was printed, so a browser that does not come is no loss.
  spawn(program, [...args, href], { detached: true, stdio: 'ignore' })
    .on('error', () => undefined)
    .unref()
}
