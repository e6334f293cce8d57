// The size of the files that a browser loads before the first page, compressed by gzip, in bytes.
import type { Bundle } from './build.ts'

export function firstLoadOf({ assets, entry }: Bundle): { script: number; style: number } {
  const sizeOf = (names: string[]) =>
    assets.filter(({ name }) => names.includes(name)).reduce((sum, asset) => sum + asset.gzip.length, 0)
  return { script: sizeOf([entry.script, ...entry.preload]), style: sizeOf([entry.style]) }
}
