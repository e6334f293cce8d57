// The search of the palette: groups and identities by a part of their name.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../api/api.ts'
import { parentOf } from '../api/uids.ts'
import { paths } from '../paths.ts'
import type { PaletteAction } from './palette-state.ts'

const minLength = 2
const pageSize = 6
const pauseMs = 150

export function useFound(text: string): readonly PaletteAction[] {
  const found = useSignal<readonly PaletteAction[]>([])
  useEffect(() => {
    const words = text.trim()
    found.value = []
    if (words.length < minLength) return
    const canceller = new AbortController()
    const timer = setTimeout(
      () =>
        search(words, canceller.signal)
          .then((results) => {
            found.value = results
          })
          // The pages and actions that the palette knows are still useful.
          .catch(() => {}),
      pauseMs,
    )
    return () => {
      clearTimeout(timer)
      canceller.abort()
    }
  }, [text])
  return found.value
}

async function search(nameContains: string, signal: AbortSignal): Promise<PaletteAction[]> {
  const request = { nameContains, pageSize, orderBy: 'name' }
  const [{ groups = [] }, { identities = [] }] = await Promise.all([
    api.groups.listGroups(request, { signal }),
    api.identities.listIdentities(request, { signal }),
  ])
  return [
    ...groups.map(({ uid = '', name = '' }) => ({ label: name, section: 'Groups', to: paths.group(uid) })),
    ...identities.flatMap(({ uid = '', name = '' }) => {
      const group = parentOf(uid)
      return group === '' ? [] : [{ label: name, section: 'Identities', to: paths.identity(group, uid) }]
    }),
  ]
}
