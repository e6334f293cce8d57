/**
 * Finds cycles in a graph of files: at least one if there are any, and none twice. A cycle is a
 * path that ends at the file it starts with.
 */
export function findCycles(edges: { file: string; target: string }[]): string[][] {
  // A file may import another one twice, with `import` and with `import type`.
  const targetsByFile = new Map<string, Set<string>>()
  for (const { file, target } of edges)
    targetsByFile.set(file, (targetsByFile.get(file) ?? new Set()).add(target))
  const finished = new Set<string>()
  const path: string[] = []
  const cycles: string[][] = []

  function visit(file: string): void {
    const start = path.indexOf(file)
    if (start >= 0) cycles.push([...path.slice(start), file])
    if (start >= 0 || finished.has(file)) return
    path.push(file)
    for (const target of targetsByFile.get(file) ?? []) visit(target)
    path.pop()
    finished.add(file)
  }

  for (const file of targetsByFile.keys()) visit(file)
  return cycles
}
