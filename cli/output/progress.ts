// A line that says how far something is, for whoever waits at a terminal and sees nothing else of it.

export type Progress = {
  /** Of how many, where that is known. What is done already needs no word. */
  say(done: number, total?: number): void
  clear(): void
}

const pause = 200

export function openProgress(isWanted: boolean, now: () => number = Date.now): Progress {
  let last = now()
  let isShown = false
  return {
    say(done, total) {
      if (!isWanted || done === total || now() - last < pause) return
      last = now()
      isShown = true
      process.stderr.write(`\r\x1b[K${done} ${total === undefined ? 'so far' : `of ${total}`}`)
    },
    clear() {
      if (isShown) process.stderr.write('\r\x1b[K')
      isShown = false
    },
  }
}
