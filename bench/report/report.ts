// The lines that a benchmark reports, and their table.

export type Line = {
  what: string
  measured: string
  /** What it is compared with, measured in the same run. */
  bound: string
  ratio: string
  toReach: string
  /** Undefined for a figure without a goal. */
  isReached: boolean | undefined
}

export type Bench = () => Promise<Line[]>

/** A line without a bound or a goal. */
export const plainLine = (what: string, measured: string): Line => ({
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
