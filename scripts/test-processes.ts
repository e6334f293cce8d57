// Groups test files so that several of them run in one process. Loading the server takes 0.75 seconds of CPU time in
// each process, and its code is slow until V8 has compiled it: the 13 files of e2e/v1 take 26 seconds of CPU time in one
// process, 34 in three and more than 50 in 13.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

export type TestGroups = {
  /** The files to pass to `node --test`: one for each process, in the order in which they start. */
  files: string[]
  /** Deletes the files of the groups. */
  remove(): void
}

/** Larger groups save little more CPU time, and the last of them would run alone at the end. */
const maxGroupSize = 24
const cache = 'node_modules/.cache'

export function groupTestFiles(root: string, files: string[]): TestGroups {
  mkdirSync(join(root, cache), { recursive: true })
  const folder = mkdtempSync(join(root, cache, 'tests-'))
  const textOf = (file: string) => readFileSync(join(root, file), 'utf8')
  const byFolder = Map.groupBy(files, folderOfGroup)
  const lengthOf = (group: string[]) => group.reduce((sum, file) => sum + textOf(file).length, 0)
  // Long groups come before short ones, so that none of them runs alone at the end.
  const groups = [...byFolder.values()]
    .flatMap(divide)
    .sort((a, b) => Number(isSlow(b)) - Number(isSlow(a)) || lengthOf(b) - lengthOf(a))
  return {
    files: groups.map((group, at) => {
      // `node --test` sorts its files by path.
      const path = join(folder, String(at).padStart(3, '0'), folderOfGroup(group[0] ?? ''), 'group.test.mjs')
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, group.map((file) => `import '${pathToFileURL(join(root, file))}'\n`).join(''))
      return path
    }),
    remove: () => rmSync(folder, { recursive: true }),
  }
}

/** Divides the files of a folder into groups of about the same size. */
function divide(files: string[]): string[][] {
  const groupCount = Math.ceil(files.length / maxGroupSize)
  return Object.values(Object.groupBy(files, (_, at) => at % groupCount)).map((group = []) => group)
}

/**
 * The folder in `e2e`, or the workspace. Workspaces are not divided by room, because their tests are
 * quick, and a room has few test files.
 */
function folderOfGroup(file: string): string {
  const [first = '', second = ''] = dirname(file).split('/')
  return first === 'e2e' ? `${first}/${second}` : first
}

/** These folders mostly wait for programs that they start, so they take longer than the length of their files suggests. */
const isSlow = ([file = '']: string[]) =>
  ['e2e/console', 'e2e/docs', 'e2e/server', 'e2e/cli', 'e2e/sdk'].includes(folderOfGroup(file))

/** Whether a test file has a hook outside `describe`, which would also run for the other files of its process. */
export const hasHookAtRoot = (text: string) => rootHook.test(text)

/** A line that is not indented and calls a hook, or a function that makes hooks for a suite, such as `doorsOfSuite`. */
const rootHook = /^(?:const .* = )?(?:(?:before|after)(?:Each)?|\w+OfSuite)\(/m

/** The folder of the tests that the file of a group imports. `path` is relative to the root. */
export const folderOfTests = (path: string) =>
  dirname(path.replace(/^node_modules\/\.cache\/tests-\w+\/\d+\//, ''))
