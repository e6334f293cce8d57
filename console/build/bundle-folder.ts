// Writes a bundle to a folder of a package, because packages do not contain the sources of the console. The server
// reads the folder (server/console/load-bundle.ts).
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bundle } from './build.ts'

export function writeBundle(folder: string, { assets, entry }: Bundle): void {
  mkdirSync(folder, { recursive: true })
  for (const { name, body, gzip, brotli } of assets) {
    writeFileSync(join(folder, name), body)
    writeFileSync(join(folder, `${name}.gz`), gzip)
    writeFileSync(join(folder, `${name}.br`), brotli)
  }
  const types = assets.map(({ name, type }) => ({ name, type }))
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ assets: types, entry }))
}
