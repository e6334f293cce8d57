/** Finds cycles in a graph of files. A cycle is a path that ends at the file it starts with; each is returned once. */
export function findCycles(edges: { file: string; target: string }[]): string[][] {
  const edgesByFile = Map.groupBy(edges, (edge) => edge.file)
  const finished = new Set<string>()
  const path: string[] = []
  const cycles: string[][] = []

  function visit(file: string): void {
    const start = path.indexOf(file)
    if (start >= 0) cycles.push([...path.slice(start), file])
    if (start >= 0 || finished.has(file)) return
    path.push(file)
    for (const { target } of edgesByFile.get(file) ?? []) visit(target)
    path.pop()
    finished.add(file)
  }

  for (const file of edgesByFile.keys()) visit(file)
  return cycles
}
