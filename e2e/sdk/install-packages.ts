// Packs the packages and installs them with npm in an empty folder, as their users do.
import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../server/testing/stores.ts'

const root = join(import.meta.dirname, '../..')
/** The Node that runs the tests, and the npm that started them. */
const { execPath } = process
const npm = process.env.npm_execpath
const timeoutMs = 300_000

type Output = { stdout: string; stderr: string }

const run = (args: string[], cwd: string): Promise<Output> =>
  promisify(execFile)(execPath, args, { cwd, timeout: timeoutMs, env: environment() })

/** The environment without the variables that npm and Node set for the tests, and with this Node first in PATH. */
function environment(): NodeJS.ProcessEnv {
  const excluded = /^(npm_(?!config_)|INIT_CWD$|NODE_(OPTIONS|TEST_CONTEXT|COMPILE_CACHE)$)/
  const others = Object.entries(process.env).filter(([name]) => !excluded.test(name))
  const PATH = [dirname(execPath), process.env.PATH].join(delimiter)
  return { ...Object.fromEntries(others), PATH }
}

export function runNpm(args: string[], cwd: string): Promise<Output> {
  if (npm === undefined) throw new Error('npm_execpath is not set: start these tests with npm')
  return run([npm, '--prefix', cwd, ...args], cwd)
}

/** Runs a command that a package has installed. On Windows it is no program, but a script for a shell. */
export const runInstalled = (program: string, args: string[], cwd: string): Promise<Output> =>
  process.platform === 'win32'
    ? runNpm(['exec', '--offline', '--', program, ...args], cwd)
    : promisify(execFile)(join(cwd, 'node_modules/.bin', program), args, {
        ...{ cwd, timeout: timeoutMs, env: environment() },
      })

/** Returns the folder with the installed packages, which the caller removes. */
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
 * Pins the dependencies to the versions of the repository, which are in npm's cache already, so that little or nothing
 * is downloaded. npm ignores pins of packages that nothing depends on.
 */
async function lockOf(dependencies: Record<string, string>) {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as Lock
  const others = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link,
  )
  return { lockfileVersion: 3, packages: { '': { dependencies }, ...Object.fromEntries(others) } }
}
