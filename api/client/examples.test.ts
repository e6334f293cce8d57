// Type-checks the examples in the doc comments of the SDK, which users see in their editors.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')
const files = (await readdir(import.meta.dirname)).filter((file) => !file.endsWith('.test.ts'))
const modules = await Promise.all(
  files.map(async (file) => ({ file, text: await readFile(join(import.meta.dirname, file), 'utf8') })),
)

type Export = { file: string; name: string; example: string | undefined }

const exports = modules.flatMap(({ file, text }) => exportsOf(file, text))

function exportsOf(file: string, text: string): Export[] {
  const declarations = text.matchAll(/((?:^(?:\/\*\*| \*).*\n)*)^export (?:async )?\w+\*? (\w+)/gm)
  return Array.from(declarations, ([, comment = '', name = '']) => {
    const [, block] = / \* @example\n \* ```ts\n(.*?) \* ```\n \*\/\n$/s.exec(comment) ?? []
    return { file, name, example: block?.replaceAll(/^ \* ?/gm, '') }
  })
}

/** Adds the import of the documented module if the example omits it, as examples of internal functions do. */
function programOf({ file, example = '' }: Export, folder: string): string {
  const moduleExports = exports.filter((candidate) => candidate.file === file).map(({ name }) => name)
  const namesToImport = moduleExports.filter(
    (name) => new RegExp(`\\b${name}\\b`).test(example) && !isImported(name, example),
  )
  const path = relative(folder, join(import.meta.dirname, file)).replaceAll('\\', '/')
  const imports = namesToImport.length > 0 ? `import { ${namesToImport.join(', ')} } from '${path}'\n` : ''
  return `${imports}${example}export {}\n`
}

const isImported = (name: string, example: string) =>
  new RegExp(`^import (type )?\\{[^}]*\\b${name}\\b`, 'm').test(example)

describe('the exports of the SDK', () => {
  test('have a doc comment with an example', () => {
    // Fails if the regular expression no longer finds the exports.
    assert.ok(exports.length > 40)
    const undocumented = exports.filter(({ example }) => example === undefined)
    assert.deepEqual(undocumented, [])
  })

  test('have examples that compile', async () => {
    await mkdir(join(root, '.cache'), { recursive: true })
    // The folder is in the repository, so that imports of the workspace packages can be resolved.
    const folder = await mkdtemp(join(root, '.cache/examples-'))
    try {
      for (const [index, entry] of exports.entries())
        await writeFile(join(folder, `${index}-${entry.name}.ts`), programOf(entry, folder))
      const compilerOptions = { noUnusedLocals: false, verbatimModuleSyntax: false }
      const config = { extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'] }
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
      const compiler = join(root, 'node_modules/typescript/bin/tsc')
      await promisify(execFile)(process.execPath, [compiler, '-p', folder]).catch(({ stdout }) =>
        assert.fail(stdout),
      )
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
