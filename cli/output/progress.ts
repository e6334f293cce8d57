/** A line on standard error that shows how much is done. */
export type Progress = {
  /** `done` of `total` items are finished. `total` is undefined if it is not known. */
  update(done: number, total?: number): void
  clear(): void
}

const intervalMs = 200
const clearLine = '\r\x1b[K'

/** Shows nothing if `isVisible` is false, or if the work takes less than `intervalMs`. */
export function createProgress(
  isVisible: boolean,
  stderr: NodeJS.WritableStream,
  now: () => number,
): Progress {
  let lastUpdate = now()
  let isShown = false
  return {
    update(done, total) {
      if (!isVisible || done === total || now() - lastUpdate < intervalMs) return
      lastUpdate = now()
      isShown = true
      stderr.write(`${clearLine}${done} ${total === undefined ? 'so far' : `of ${total}`}`)
    },
    clear() {
      if (isShown) stderr.write(clearLine)
      isShown = false
    },
  }
}
