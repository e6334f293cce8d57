// Reads the steps of a recipe in CONTRIBUTING.md and applies them to a copy of the repository.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** A code block, and whether it is a new file or lines for an existing one. */
export type Step = { isNew: boolean; path: string; code: string }

const stepPattern = /^\d+\. (New file|Add to) `([^`]+)`[^\n]*\n\n```\w+\n([\s\S]*?\n)```$/gm

/** The steps below a heading of the third level. */
export function stepsOf(page: string, heading: string): Step[] {
  const [, section = ''] = page.split(`### ${heading}\n`)
  const [recipe = ''] = section.split(/^###? /m)
  return [...recipe.matchAll(stepPattern)].map(([, verb, path = '', code = '']) => ({
    isNew: verb === 'New file',
    path,
    code,
  }))
}

export async function applyStep(root: string, { isNew, path, code }: Step): Promise<void> {
  const file = join(root, await numberMigration(root, path))
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, isNew ? code : insertCode(await readFile(file, 'utf8'), code))
}

/** Replaces NNNN in the name of a migration by the next number. */
async function numberMigration(root: string, path: string): Promise<string> {
  if (!path.includes('NNNN')) return path
  const files = await readdir(join(root, dirname(path)))
  const lastNumber = Math.max(...files.map((file) => Number.parseInt(file, 10)).filter(Number.isFinite))
  return path.replace('NNNN', String(lastNumber + 1).padStart(4, '0'))
}

/** Imports go before the first import, other lines before the last line, which closes the list or enum. */
function insertCode(text: string, code: string): string {
  const lines = code.trimEnd().split('\n')
  const imports = lines.filter((line) => line.startsWith('import '))
  const others = lines.filter((line) => !line.startsWith('import '))
  const oldLines = text.trimEnd().split('\n')
  const firstImport = Math.max(
    0,
    oldLines.findIndex((line) => line.startsWith('import ')),
  )
  return [
    ...oldLines.slice(0, firstImport),
    ...imports,
    ...oldLines.slice(firstImport, -1),
    ...others,
    oldLines.at(-1),
    '',
  ].join('\n')
}
