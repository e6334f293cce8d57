// Text and two-column lists that fit the width of the terminal.

export type Row = [name: string, text: string]

const minWidth = 60
const maxWidth = 110
const defaultWidth = 100
const minTextWidth = 20
const maxNameWidth = 36

export function wrap(text: string, indent: number, width: number): string {
  const textWidth = Math.max(minTextWidth, width - indent)
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + word.length >= textWidth) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join(`\n${' '.repeat(indent)}`)
}

export const helpWidth = (): number =>
  Math.max(minWidth, Math.min(process.stdout.columns || defaultWidth, maxWidth))

/** Names on the left, their descriptions on the right. A long name has a line of its own. */
export function formatRows(rows: Row[], width = helpWidth()): string {
  const nameWidth = Math.min(maxNameWidth, Math.max(...rows.map(([name]) => name.length)))
  const indent = nameWidth + 4
  return rows
    .map(([name, text]) => {
      const start =
        name.length > nameWidth ? `  ${name}\n${' '.repeat(indent)}` : `  ${name.padEnd(nameWidth)}  `
      return `${start}${wrap(text, indent, width)}`.trimEnd()
    })
    .join('\n')
}
