// How far a long work is: a bar on a terminal, nothing elsewhere.

const width = 30
const often = 100

export type Progress = { tell(done: number, total: number | undefined): void; end(): void }

export function openProgress(what: string, stream: NodeJS.WriteStream = process.stderr): Progress {
  const started = performance.now()
  let told = Number.NEGATIVE_INFINITY
  if (!stream.isTTY) return { tell() {}, end() {} }
  return {
    tell(done, total) {
      const now = performance.now()
      if (now - told < often) return
      told = now
      const speed = Math.round((done / (now - started)) * 1000)
      stream.write(
        `\r${bar(done, total)} ${done.toLocaleString('en')} ${what}, ${speed.toLocaleString('en')} a second `,
      )
    },
    end: () => void stream.write('\r\x1b[K'),
  }
}

function bar(done: number, total: number | undefined): string {
  if (!total) return ''
  const full = Math.min(width, Math.round((done / total) * width))
  return `[${'#'.repeat(full)}${'.'.repeat(width - full)}]`
}
