// Preloaded into every process of a benchmark: receives commands over IPC, reports CPU time and memory, and ends
// the process when its parent ends.

/** CPU time in seconds and resident memory in bytes. */
export type Usage = { cpu: number; memory: number }

/** Commands that arrived before the program called `onCommand`. */
const earlyCommands: unknown[] = []
let handle: ((command: unknown) => void) | undefined

process.on('message', (message) => {
  if (message === 'usage') process.send?.(usage())
  else if (handle) handle(message)
  else earlyCommands.push(message)
})
process.on('disconnect', () => process.exit(1))
// The IPC channel must not keep the program alive.
process.channel?.unref()

/** Answers each command with the result of `run`, and keeps the process alive. */
export function onCommand<T>(run: (command: T) => unknown): void {
  handle = async (command) => process.send?.(await run(command as T)) // the parent sends what this program expects
  for (const command of earlyCommands.splice(0)) handle(command)
  process.channel?.ref()
}

function usage(): Usage {
  const { user, system } = process.cpuUsage()
  return { cpu: (user + system) / 1e6, memory: process.memoryUsage.rss() }
}
