// The guides: the pages of docs/, in the order of docs/README.md. A package contains a copy of them.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageFile } from '../package-files.ts'

export type Guide = { slug: string; title: string; about: string }
export type GuideSection = { title: string; guides: Guide[] }

const folder = ['reference/guides', '../docs'].map(packageFile).find(existsSync) ?? ''

const readGuideFile = (name: string) => readFileSync(join(folder, name), 'utf8')

/** Empty if this installation has no guides. */
export function readGuideSections(): GuideSection[] {
  if (folder === '') return []
  const sections: GuideSection[] = []
  for (const line of readGuideFile('README.md').split('\n')) {
    const [, heading] = /^(\w.*):$/.exec(line) ?? []
    if (heading !== undefined) sections.push({ title: heading, guides: [] })
    const [, title, slug, about] = /^- \[([^\]]+)\]\(([a-z-]+)\.md\): (.+)$/.exec(line) ?? []
    if (title !== undefined && slug !== undefined && about !== undefined)
      sections.at(-1)?.guides.push({ slug, title, about: capitalized(about) })
  }
  return sections.filter(({ guides }) => guides.length > 0)
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

export const readGuide = (slug: string) => readGuideFile(`${slug}.md`)

const pictureTypes: Record<string, string> = { svg: 'image/svg+xml', png: 'image/png', webp: 'image/webp' }

/** The pictures of the guides: their types by path, such as `tree.svg` or `pictures/overview.webp`. */
export function pictures(): [path: string, type: string][] {
  if (folder === '') return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((path) => {
    const type = pictureTypes[path.slice(path.lastIndexOf('.') + 1)]
    return type === undefined ? [] : [[path.replaceAll('\\', '/'), type]]
  })
}

export const readPicture = (path: string): Buffer => readFileSync(join(folder, path))
