// The packages as their users have them: packed, and installed by npm in a folder that has nothing else.
import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../server/stemmad.ts'

const root = join(import.meta.dirname, '../..')
/** That the tests run on, with the npm that started them. */
const { execPath } = process
const npm = process.env.npm_execpath
const patience = 120_000

type Ran = { stdout: string; stderr: string }

const run = (args: string[], cwd: string): Promise<Ran> =>
  promisify(execFile)(execPath, args, { cwd, timeout: patience, env: environment() })

/** Without what is meant for this process alone, and with this Node before others. */
function environment(): NodeJS.ProcessEnv {
  const own = /^(npm_(?!config_)|INIT_CWD$|NODE_(OPTIONS|TEST_CONTEXT|COMPILE_CACHE)$)/
  const others = Object.entries(process.env).filter(([name]) => !own.test(name))
  const PATH = [dirname(execPath), process.env.PATH].join(delimiter)
  return { ...Object.fromEntries(others), PATH }
}

/** Whatever npm is told, in that folder. */
export function runNpm(args: string[], cwd: string): Promise<Ran> {
  if (npm === undefined) throw new Error('these tests are started by npm, which says where it is')
  return run([npm, '--prefix', cwd, ...args], cwd)
}

/** Answers the folder; whoever has it installed removes it. */
export async function installPackages(): Promise<string> {
  const folder = await temporaryFolder()
  await run([join(root, 'scripts/pack.ts'), folder], folder)
  const tarballs = (await readdir(folder)).filter((file) => file.endsWith('.tgz'))
  const dependencies = Object.fromEntries(
    tarballs.map((file) => [`@stemma/${/^stemma-(\w+)-/.exec(file)?.[1]}`, `file:${file}`]),
  )
  const manifest = { private: true, type: 'module', dependencies }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify(await lockOf(dependencies)))
  await runNpm(['install', '--omit=dev', '--prefer-offline', '--ignore-scripts', '--no-audit'], folder)
  return folder
}

type Lock = { packages: Record<string, { dev?: boolean; link?: boolean }> }

/**
 * Of all others the versions that the repository has: they lie in the cache since it was installed, so that little or
 * nothing is fetched. What nobody depends on, npm leaves out.
 */
async function lockOf(dependencies: Record<string, string>) {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock
  const others = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link,
  )
  return { lockfileVersion: 3, packages: { '': { dependencies }, ...Object.fromEntries(others) } }
}
