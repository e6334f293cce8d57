import { once } from 'node:events'
import { styleText } from 'node:util'
import type { Runtime } from '../runtime.ts'

/** Standard output. Colours are used only on a terminal. */
export type Screen = {
  isTerminal: boolean
  /** The start of the command in milliseconds since 1970. Ages are relative to this time. */
  now: number
  /** Waits if the reader is slow, so that unread text does not accumulate in memory. */
  write(text: string): Promise<void>
  dim(text: string): string
  bold(text: string): string
}

export function openScreen({ stdout, env, now }: Pick<Runtime, 'stdout' | 'env' | 'now'>): Screen {
  const isTerminal = stdout.isTTY === true
  const hasColours = isTerminal && !env.NO_COLOR && env.TERM !== 'dumb'
  const style = (format: 'dim' | 'bold') => (text: string) =>
    hasColours ? styleText(format, text, { validateStream: false }) : text
  return {
    isTerminal,
    now: now(),
    dim: style('dim'),
    bold: style('bold'),
    async write(text) {
      if (!stdout.write(text)) await once(stdout, 'drain')
    },
  }
}
