// The licenses of the packages in a bundle, which must be distributed with it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `sources` are the paths of the bundled files. */
export function licensesOf(sources: string[]): string {
  const byPackage = Map.groupBy(sources, packageFolderOf)
  byPackage.delete(undefined)
  const sections = [...byPackage].map(([folder = '', files]) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return `${name} ${version}, ${license}\n\n${[...licenseTexts(folder, files)].join('\n\n')}\n`
  })
  return sections.sort().join(`\n${'-'.repeat(80)}\n\n`)
}

/** The folder of the package that a file belongs to; undefined for our own files. */
const packageFolderOf = (path: string): string | undefined =>
  /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(path)?.[0]

/** The files with the license, or the comments at the top of the sources if there is no such file. */
function licenseTexts(folder: string, sources: string[]): Set<string> {
  const names = readdirSync(folder).filter((name) => /^(licen[cs]e|notice)/i.test(name))
  const texts =
    names.length > 0
      ? names.map((name) => readFileSync(join(folder, name), 'utf8').trim())
      : sources.map((path) => headerOf(readFileSync(path, 'utf8'))).filter(Boolean)
  if (texts.length === 0) throw new Error(`${folder} has no license text`)
  return new Set(texts)
}

/** The `//` comment that a source begins with. */
const headerOf = (source: string) =>
  (/^(?:\/\/.*\r?\n)+/.exec(source)?.[0] ?? '').replaceAll(/^\/\/ ?/gm, '').trim()
