// Bundles the command line. The pages run it about 80 times, and a bundle starts in two thirds of the CPU time of its
// 225 modules.
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { remove } from '../server/stemmad.ts'

const root = join(import.meta.dirname, '../..')

export type CliBundle = { program: string; remove(): Promise<void> }

export async function bundleCli(): Promise<CliBundle> {
  // In the repository, so that the bundle finds `yaml`, which is CommonJS and cannot be in a bundle of ES modules.
  const cache = join(root, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'cli-'))
  await build({
    entryPoints: [join(root, 'cli/main.ts')],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    ...{ bundle: true, splitting: true, format: 'esm', external: ['yaml'] },
    ...{ platform: 'node', target: 'node24', logLevel: 'silent' },
  })
  return { program: join(folder, 'main.mjs'), remove: () => remove(folder) }
}
