// Loaded before each program that is measured or measures: takes the orders of whoever started it, tells what
// it has used, and ends it with whoever started it.

/** Seconds of the processor, and bytes of memory. */
export type Usage = { cpu: number; memory: number }

/** Orders that came before the program was there to take them. */
const early: unknown[] = []
let take: ((order: unknown) => void) | undefined

process.on('message', (message) => {
  if (message === 'usage') process.send?.(usage())
  else if (take) take(message)
  else early.push(message)
})
process.on('disconnect', () => process.exit(1))
// The program ends when it wants to, whether or not anybody still asks.
process.channel?.unref()

/** Answers each order, and stays until told to end. */
export function onOrder<T>(answer: (order: T) => unknown): void {
  take = async (order) => process.send?.(await answer(order as T)) // the starter knows what is asked here
  for (const order of early.splice(0)) take(order)
  process.channel?.ref()
}

function usage(): Usage {
  const { user, system } = process.cpuUsage()
  return { cpu: (user + system) / 1e6, memory: process.memoryUsage.rss() }
}
