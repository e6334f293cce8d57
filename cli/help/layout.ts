// Help in columns that fit the terminal.

const narrowest = 60

export function wrap(text: string, indent: number, width: number): string {
  const room = Math.max(20, width - indent)
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + word.length >= room) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join(`\n${' '.repeat(indent)}`)
}

export const helpWidth = (): number => Math.max(narrowest, Math.min(process.stdout.columns || 100, 110))

/** Names on the left, what they mean on the right. */
export function rows(entries: [string, string][], width = helpWidth()): string {
  const left = Math.min(36, Math.max(...entries.map(([name]) => name.length)))
  return entries
    .map(([name, text]) => {
      const head = name.length > left ? `  ${name}\n${' '.repeat(left + 4)}` : `  ${name.padEnd(left)}  `
      return `${head}${wrap(text, left + 4, width)}`.trimEnd()
    })
    .join('\n')
}
