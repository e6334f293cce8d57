// Bundles the programs of the command line with the packages that they use. A command then loads about 20 files in
// place of 225, and takes half the CPU time to start.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { licensesOf } from './licenses.ts'

const cli = join(import.meta.dirname, '..')

/** Packages in CommonJS, which cannot be in a bundle of ES modules. */
export const unbundledPackages = ['yaml']

/** Writes the bundle, and the licenses of the packages in it. `yaml` must be installed in a folder above it. */
export async function bundleCli(folder: string): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: cli,
    entryPoints: { main: 'main.ts', 'credential-helper': 'credential-helper/main.ts' },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    ...{ bundle: true, splitting: true, format: 'esm', external: unbundledPackages },
    ...{ platform: 'node', target: 'node24', metafile: true, legalComments: 'none' },
  })
  const sources = Object.keys(metafile.inputs).map((path) => join(cli, path))
  await writeFile(join(folder, 'licenses.txt'), licensesOf(sources))
}
