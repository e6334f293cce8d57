/** Finds the cycles in a graph of files. Each is a path that ends at the file it starts with, and is reported once. */
export function findCycles(edges: { file: string; target: string }[]): string[][] {
  const targets = Map.groupBy(edges, (edge) => edge.file)
  const done = new Set<string>()
  const path: string[] = []
  const cycles: string[][] = []

  function visit(file: string): void {
    const start = path.indexOf(file)
    if (start >= 0) cycles.push([...path.slice(start), file])
    if (start >= 0 || done.has(file)) return
    path.push(file)
    for (const { target } of targets.get(file) ?? []) visit(target)
    path.pop()
    done.add(file)
  }

  for (const file of targets.keys()) visit(file)
  return cycles
}
