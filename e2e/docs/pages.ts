// Reads the shell blocks of a documentation page, with the comments `needs`, `tool` and `answers` before them.

export type Block = {
  /** The line number of the first line of the block in its page. */
  line: number
  source: string
  /** Whether lines with `$` are commands and the others their output. */
  isConsole: boolean
  /** Something that the tests do not have, such as docker. If it is set, the block is not run. */
  needs: string | undefined
  /** The program that the block uses. If it is not installed, the block is not run. */
  tool: string | undefined
  /** The HTTP statuses of the errors that its calls are expected to get. */
  answers: number[]
}

/** `expected` is the output that a console block shows. */
export type Command = { line: number; source: string; expected: string | undefined }

const opening = /^( *)(`{3,})([a-z]*)/
const comment = /^ *<!-- (needs|tool|answers): (.+) -->$/

export function blocksOf(page: string): Block[] {
  const blocks: Block[] = []
  const lines = page.split('\n')
  let comments = new Map<string, string>()
  for (let at = 0; at < lines.length; at++) {
    const text = lines[at] ?? ''
    const [, name, value] = comment.exec(text) ?? []
    const [, indent = '', fence, language = ''] = opening.exec(text) ?? []
    if (name && value) comments.set(name, value)
    else if (fence) {
      const end = lines.findIndex((line, index) => index > at && line.trim() === fence)
      if (end < 0) throw new Error(`the block of line ${at + 1} has no end`)
      const body = lines.slice(at + 1, end).map((line) => line.slice(indent.length))
      if (['sh', 'bash', 'console'].includes(language)) {
        const answers = (comments.get('answers') ?? '').split(' ').filter(Boolean).map(Number)
        const isConsole = language === 'console'
        blocks.push({
          line: at + 2,
          source: body.join('\n'),
          isConsole,
          needs: comments.get('needs'),
          tool: comments.get('tool'),
          answers,
        })
      }
      at = end
      comments = new Map()
    } else if (text.trim() !== '') comments = new Map()
  }
  return blocks
}

/** The commands of a block; a block that is not a console is one command. */
export function commandsOf({ isConsole, line, source }: Block): Command[] {
  if (!isConsole) return [{ line, source, expected: undefined }]
  const commands: Command[] = []
  let isContinued = false
  for (const [at, text] of source.split('\n').entries()) {
    const last = commands.at(-1)
    if (text.startsWith('$ ')) commands.push({ line: line + at, source: text.slice(2), expected: '' })
    else if (!last) throw new Error(`a console block must start with a command after "$ ", not with ${text}`)
    else if (isContinued) last.source += `\n${text}`
    else last.expected += `${text}\n`
    isContinued = (text.startsWith('$ ') || isContinued) && text.endsWith('\\')
  }
  return commands
}

/** Whether the output is as the page shows; `…` matches anything. */
export function isExpected(expected: string, output: string): boolean {
  const parts = expected.trim().split('…')
  const pattern = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[\\s\\S]*')
  return new RegExp(`^${pattern}$`).test(output.trim())
}

// A command that starts a server. The reader of a page runs it in a second terminal.
const serverCommand =
  /^(?!\s*#)((?:[^\n]*\\\n)*[^\n]*(?:\bnpm start|@stemma\/server serve)\b(?:[^\n]*\\\n)*[^\n]*?)(?:\s+#[^\n]*)?$/gm

/** Changes a script so that servers run in the background. The line numbers stay the same. */
export const inBackground = (source: string) =>
  source.replace(serverCommand, (_, command: string) => {
    const port = /(?:\bPORT=|--port[ =])(\d+)/.exec(command)?.[1] ?? '"$PORT"'
    // `npm ci` is left out, because it would delete the packages that the tests are using.
    return `in_background ${port} <<< '${command.replace(/\bnpm ci && /g, '').replaceAll("'", "'\\''")}'`
  })
