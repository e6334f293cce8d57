// Groups test files so that several of them run in one process. Loading the server takes 0.75 seconds of CPU time in
// each process, and its code is slow until V8 has compiled it: the 13 files of e2e/v1 take 26 seconds of CPU time in one
// process, 34 in three and more than 50 in 13.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

export type TestGroups = {
  /** The files to pass to `node --test`, in this order: the files that are in no group, and one file for each group. */
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
  const grouped = files.filter((file) => !hasHookAtRoot(join(root, file)))
  const byFolder = Map.groupBy(grouped, folderOfGroup)
  const groupFiles = [...byFolder].flatMap(([testFolder, filesOfFolder]) => {
    const groupCount = Math.ceil(filesOfFolder.length / maxGroupSize)
    const groups = Object.values(Object.groupBy(filesOfFolder, (_, at) => at % groupCount))
    return groups.map((group = [], at) => {
      const path = join(folder, testFolder, `${at + 1}.test.mjs`)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, group.map((file) => `import '${pathToFileURL(join(root, file))}'\n`).join(''))
      return path
    })
  })
  return {
    // Files that are in no group come first: one of them waits for 30 seconds, which is no loss while others run.
    files: [...files.filter((file) => !grouped.includes(file)), ...groupFiles],
    remove: () => rmSync(folder, { recursive: true }),
  }
}

/**
 * The folder in `e2e`, or the workspace. Workspaces are not divided by room, because their tests are
 * quick, and a room has few test files.
 */
function folderOfGroup(file: string): string {
  const [first = '', second = ''] = dirname(file).split('/')
  return first === 'e2e' ? `${first}/${second}` : first
}

/** A hook outside `describe` would also run for the other files of a group, so its file has a process of its own. */
const hasHookAtRoot = (path: string) => /^(before|after)(Each)?\(/m.test(readFileSync(path, 'utf8'))

/** The folder of a test file, or of the tests that the file of a group imports. `path` is relative to the root. */
export const folderOfTests = (path: string) =>
  dirname(path.replace(/^node_modules\/\.cache\/tests-\w+\//, ''))
