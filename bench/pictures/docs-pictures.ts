// The pictures that README and docs show. `npm run pictures -- --docs` makes them anew after a change of the console.
import { join } from 'node:path'

type DocsPicture = {
  file: string
  /** The name of a page, as targets.ts makes it. */
  target: string
  query?: string
  colorScheme: 'light' | 'dark'
}

export const docsFolder = join(import.meta.dirname, '../../docs/pictures')

export const docsPictures: readonly DocsPicture[] = [
  { file: 'overview.png', target: 'console-group', colorScheme: 'light' },
  { file: 'access.png', target: 'console-group-access', colorScheme: 'light' },
  { file: 'groups.png', target: 'console-group-groups', colorScheme: 'dark' },
  { file: 'tag.png', target: 'console-group-repos-repo-tags-tag', colorScheme: 'light' },
]
