// A copy of the repository that can be changed and run. Its node_modules contains symbolic links: those of our
// workspaces lead to the folders of the copy, all others to the packages of the original.
import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { remove, temporaryFolder } from '../server/stemmad.ts'

const root = join(import.meta.dirname, '../..')
const notCopied = new Set(['node_modules', '.git', '.cache', 'data', 'dist'])
const isCopied = (path: string) => !notCopied.has(basename(path))

const testFlags = ['--test', '--test-isolation=none', '--import=./server/testing/resolve-imports.ts']

export type TreeCopy = {
  folder: string
  /** Runs Node in the copy and returns its standard output. Throws an error with all output if Node fails. */
  run(...args: string[]): Promise<string>
  /** Runs test files of the copy in one process, which loads the server once, and returns the report. */
  test(...args: string[]): Promise<string>
  /** Loads a module of the copy. */
  load<T>(path: string): Promise<T>
  remove(): Promise<void>
}

export async function copyTree(): Promise<TreeCopy> {
  const folder = await temporaryFolder()
  for (const name of await readdir(root))
    if (isCopied(name)) await cp(join(root, name), join(folder, name), { recursive: true, filter: isCopied })
  await linkPackages(folder)
  return {
    folder,
    run: (...args) => run(folder, args),
    test: (...args) => run(folder, [...testFlags, ...args]),
    load: (path) => import(join(folder, path)),
    remove: () => remove(folder),
  }
}

async function linkPackages(folder: string): Promise<void> {
  const packages = join(folder, 'node_modules')
  await mkdir(join(packages, '@stemma'), { recursive: true })
  for (const name of await readdir(join(root, 'node_modules')))
    if (!['@stemma', '.cache'].includes(name))
      await symlink(join(root, 'node_modules', name), join(packages, name))
  const { workspaces } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    workspaces: string[]
  }
  for (const name of workspaces) await symlink(join(folder, name), join(packages, '@stemma', name))
}

async function run(cwd: string, args: string[]): Promise<string> {
  // If this variable were passed on, a test runner in the copy would report to the runner of this test.
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const options = { cwd, env, maxBuffer: 2 ** 26 }
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, options)
    return stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${args.join(' ')} failed:\n${stdout}${stderr}`)
  }
}
