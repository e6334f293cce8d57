// The files of the console: prebuilt in a package, bundled from the sources in a clone.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bundle } from '@stemma/console/build/build.ts'
import { packageFile } from '../package-files.ts'

export type { Asset, Bundle } from '@stemma/console/build/build.ts'

const prebuilt = packageFile('console/assets')

export async function loadBundle(): Promise<Bundle> {
  if (existsSync(prebuilt)) return readBundle(prebuilt)
  const { bundleConsole } = await import('./bundle-sources.ts')
  return bundleConsole()
}

function readBundle(folder: string): Bundle {
  const read = (name: string) => readFileSync(join(folder, name))
  const { assets, entry } = JSON.parse(read('manifest.json').toString()) as Bundle
  return {
    assets: assets.map(({ name, type }) => ({
      ...{ name, type, body: read(name), gzip: read(`${name}.gz`), brotli: read(`${name}.br`) },
    })),
    entry,
  }
}
