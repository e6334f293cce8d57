// Where output goes: written no faster than it is taken, coloured only for people.
import { once } from 'node:events'
import { styleText } from 'node:util'

export type Screen = {
  isTerminal: boolean
  now: number
  write(text: string): Promise<void>
  dim(text: string): string
  bold(text: string): string
}

export function openScreen(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv, now = Date.now()): Screen {
  const isTerminal = stream.isTTY === true
  const hasColours = isTerminal && !env.NO_COLOR && env.TERM !== 'dumb'
  const style = (format: 'dim' | 'bold') => (text: string) =>
    hasColours ? styleText(format, text, { validateStream: false }) : text
  return {
    isTerminal,
    now,
    dim: style('dim'),
    bold: style('bold'),
    async write(text) {
      if (!stream.write(text)) await once(stream, 'drain')
    },
  }
}
