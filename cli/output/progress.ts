// A line that says how far something is, for whoever waits at a terminal and sees nothing else of it.

export type Progress = { say(text: string): void; clear(): void }

const pause = 200

export function openProgress(isWanted: boolean, now: () => number = Date.now): Progress {
  let last = now()
  let isShown = false
  return {
    say(text) {
      if (!isWanted || now() - last < pause) return
      last = now()
      isShown = true
      process.stderr.write(`\r\x1b[K${text}`)
    },
    clear() {
      if (isShown) process.stderr.write('\r\x1b[K')
      isShown = false
    },
  }
}
