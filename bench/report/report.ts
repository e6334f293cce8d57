// What a benchmark says, and the table of it.

export type Line = {
  what: string
  measured: string
  /** What it is held against, taken in the same run. */
  bound: string
  ratio: string
  toReach: string
  /** Undefined where a figure is only told. */
  isReached: boolean | undefined
}

export type Bench = () => Promise<Line[]>

/** A line that is held against nothing. */
export const told = (what: string, measured: string): Line => ({
  ...{ what, measured, bound: '', ratio: '', toReach: '' },
  isReached: undefined,
})

const heads = ['what', 'measured', 'bound', 'ratio', 'to reach', '']

export function formatTable(lines: readonly Line[]): string {
  const rows = lines.map(({ what, measured, bound, ratio, toReach, isReached }) => [
    ...[what, measured, bound, ratio, toReach],
    isReached === undefined ? '' : isReached ? 'ok' : 'short',
  ])
  const widths = heads.map((_, column) =>
    Math.max(...[heads, ...rows].map((row) => row[column]?.length ?? 0)),
  )
  const format = (row: string[]) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ')
  return [format(heads), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(format)]
    .map((row) => row.trimEnd())
    .join('\n')
}
