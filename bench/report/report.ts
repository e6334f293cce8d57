// The lines that a benchmark reports, and their table.

export type Line = {
  label: string
  measured: string
  /** The baseline, measured in the same run, or a fixed maximum. Empty for some lines. */
  baseline: string
  ratio: string
  goal: string
  /** Undefined for a line without a goal. */
  isMet: boolean | undefined
}

export type Bench = () => Promise<Line[]>

/** A line without a baseline or a goal. */
export const plainLine = (label: string, measured: string): Line => ({
  ...{ label, measured, baseline: '', ratio: '', goal: '' },
  isMet: undefined,
})

const heads = ['benchmark', 'measured', 'baseline', 'ratio', 'goal', '']

export function formatTable(lines: readonly Line[]): string {
  const rows = lines.map(({ label, measured, baseline, ratio, goal, isMet }) => [
    ...[label, measured, baseline, ratio, goal],
    isMet === undefined ? '' : isMet ? 'ok' : 'missed',
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
