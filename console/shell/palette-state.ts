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

/** Offers actions of a page in the palette. The actions are a new array each time; `key` changes when they do. */
export function usePaletteActions(actions: readonly PaletteAction[], key: string): void {
  useEffect(() => {
    pageActions.value = actions
    return () => {
      pageActions.value = []
    }
  }, [key])
}
