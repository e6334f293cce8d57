// Writes the files of the published packages: JavaScript, type declarations, manifests and other files. The sources
// are compiled, because Node runs no TypeScript below node_modules. Those of the server and the command line are bundled.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundleCli, unbundledPackages } from '../cli/build/bundle-cli.ts'
import { bundleConsole } from '../console/build/build.ts'
import { writeBundle } from '../console/build/bundle-folder.ts'
import { bundleServer } from '../server/build/bundle-server.ts'
import { wantedMajor } from './pinned-node.mjs'

export const packages = ['api', 'server', 'cli']

const root = join(import.meta.dirname, '..')

type Manifest = {
  exports?: Record<string, string>
  bin?: Record<string, string>
  private?: boolean
  dependencies?: Record<string, string>
  devDependencies?: unknown
}

/** Writes a folder for each package and returns their paths. */
export async function stagePackages(folder: string): Promise<string[]> {
  compile(folder)
  for (const name of packages) stage(name, folder)
  await bundleServer(join(folder, 'server/bundle'), '..')
  await bundleCli(join(folder, 'cli/bundle'))
  writeBundle(join(folder, 'server/console/assets'), await bundleConsole())
  stageGuides(join(folder, 'server/reference/guides'))
  return packages.map((name) => join(folder, name))
}

/** The pages and pictures of docs that the server shows at /docs. */
function stageGuides(folder: string): void {
  for (const file of globSync(['*.md', '**/*.{svg,png,webp}'], { cwd: join(root, 'docs') }))
    cpSync(join(root, 'docs', file), join(folder, file))
}

/** Compiles without checking types (`noCheck`), because `npm run check` does that. */
function compile(folder: string): void {
  const project = join(import.meta.dirname, 'tsconfig.packages.json')
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const { status } = spawnSync(process.execPath, [compiler, '-p', project, '--outDir', folder], {
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error('the packages cannot be compiled')
}

/** Copies the files that are not TypeScript; `files` in the manifest decides which of them are published. */
function stage(name: string, folder: string): void {
  const [from, to] = [join(root, name), join(folder, name)]
  for (const file of globSync('**/*.{sql,proto,mjs,css}', { cwd: from, exclude: ['**/node_modules'] }))
    cpSync(join(from, file), join(to, file))
  if (existsSync(join(from, 'README.md'))) cpSync(join(from, 'README.md'), join(to, 'README.md'))
  cpSync(join(root, 'LICENSE'), join(to, 'LICENSE'))
  const manifest = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as Manifest
  for (const dependency of bundledPackages(name, manifest)) delete manifest.dependencies?.[dependency]
  for (const launcher of new Set(Object.values(manifest.bin ?? {}))) stageLauncher(to, launcher)
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(publishedManifest(manifest), undefined, 2)}\n`)
}

/** The dependencies that a package contains in its bundle. */
function bundledPackages(name: string, { dependencies = {} }: Manifest): string[] {
  if (name === 'server') return ['@stemma/api']
  return name === 'cli' ? Object.keys(dependencies).filter((each) => !unbundledPackages.includes(each)) : []
}

/** In the repository, a launcher finds `pinned-node.mjs` in `scripts`; in a package, beside itself. */
function stageLauncher(folder: string, launcher: string): void {
  const file = join(folder, launcher)
  const source = readFileSync(file, 'utf8')
  const text = source.replace('../../scripts/pinned-node.mjs', './pinned-node.mjs')
  if (text === source) throw new Error(`${launcher} does not start its program with pinned-node.mjs`)
  writeFileSync(file, text)
  cpSync(join(import.meta.dirname, 'pinned-node.mjs'), join(folder, 'bin/pinned-node.mjs'))
}

/**
 * Removes `private`, which only prevents publishing the sources by mistake, and the development dependencies. A
 * package without `exports` is a program and exports only its manifest.
 */
function publishedManifest({ private: _, devDependencies: __, ...manifest }: Manifest) {
  const entries = Object.entries(manifest.exports ?? { './package.json': './package.json' })
  return {
    ...manifest,
    exports: Object.fromEntries(entries.map(publishedExport)),
    // Only packages need `engines`: in the repository programs run on the pinned Node.
    ...(manifest.bin && { engines: { node: `>=${wantedMajor}` } }),
  }
}

/** Points an export at its declarations and JavaScript. Modules of a wildcard export keep `.ts` in their import path. */
function publishedExport([path, target]: [string, string]): [string, unknown] {
  if (target.endsWith('/*')) return publishedExport([`${path}.ts`, `${target}.ts`])
  if (!target.endsWith('.ts')) return [path, target]
  const stem = target.slice(0, -'.ts'.length)
  return [path, { types: `${stem}.d.ts`, default: `${stem}.js` }]
}
