// The actions of the command palette. A page offers its own while it is shown.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

export type PaletteAction = {
  label: string
  /** The heading of the action, such as “Go to”. */
  section: string
  to?: string
  run?: () => void
}

export const isPaletteOpen = signal(false)
export const pageActions = signal<readonly PaletteAction[]>([])

export const openPalette = () => {
  isPaletteOpen.value = true
}

/**
 * Offers actions of a page in the palette. `key` must change when the actions do; the array itself
 * is not compared, because every render makes a new one.
 */
export function usePaletteActions(actions: readonly PaletteAction[], key: string): void {
  useEffect(() => {
    pageActions.value = actions
    return () => {
      pageActions.value = []
    }
  }, [key])
}
