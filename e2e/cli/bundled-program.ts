// `stemma` from the bundle that packages contain. It starts in half the CPU time of the sources.
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { bundleCli } from '../../cli/build/bundle-cli.ts'

/** In the repository, so that the bundle finds the packages that are not in it. */
const cache = join(import.meta.dirname, '../../node_modules/.cache')

let made: Promise<string> | undefined

/** The path of the program. The bundle is made once in each process, and removed when the process exits. */
export const bundledProgram = (): Promise<string> => (made ??= makeBundle())

async function makeBundle(): Promise<string> {
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'cli-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await bundleCli(folder)
  return join(folder, 'main.mjs')
}
