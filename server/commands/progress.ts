// Shows how far a long operation is: a progress bar on a terminal, nothing elsewhere.

const barWidth = 30
const updateIntervalMs = 100
/** Clears the line from the cursor on: a longer line may have been there. */
const clearRest = '\x1b[K'

/** `total` is undefined while it is not known. */
export type Progress = { update(done: number, total: number | undefined): void; end(): void }

export type ProgressOptions = { stream?: NodeJS.WriteStream; nowMs?: () => number }

/** `unit` is a plural noun, such as `records`. */
export function openProgress(
  unit: string,
  { stream = process.stderr, nowMs = () => performance.now() }: ProgressOptions = {},
): Progress {
  if (!stream.isTTY) return { update() {}, end() {} }
  const startMs = nowMs()
  let lastUpdateMs = Number.NEGATIVE_INFINITY
  return {
    update(done, total) {
      const now = nowMs()
      if (now - lastUpdateMs < updateIntervalMs) return
      lastUpdateMs = now
      const perSecond = Math.round((done / (now - startMs)) * 1000)
      stream.write(
        `\r${bar(done, total)} ${done.toLocaleString('en')} ${unit}, ${perSecond.toLocaleString('en')} a second ${clearRest}`,
      )
    },
    end: () => void stream.write(`\r${clearRest}`),
  }
}

function bar(done: number, total: number | undefined): string {
  if (!total) return ''
  const filled = Math.min(barWidth, Math.round((done / total) * barWidth))
  return `[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}]`
}
