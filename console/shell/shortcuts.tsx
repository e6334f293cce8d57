// Keyboard shortcuts, and the dialog that lists them.
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Place } from '../router/route.ts'
import { navigate } from '../router/router.ts'
import { Button } from '../ui/button.tsx'
import { groupRoutes, navPath } from './navigation.tsx'
import { openPalette } from './palette-state.ts'

const isHelpOpen = signal(false)

export const openShortcuts = () => {
  isHelpOpen.value = true
}

const goRoutes = groupRoutes.flatMap((route) => (route.nav.key ? [{ route, key: route.nav.key }] : []))

/** How long the second key of `G …` may take, in milliseconds. */
const sequenceMs = 1500

export function Shortcuts({ place }: { place: Place | undefined }) {
  const group = place?.group ?? ''
  useEffect(() => {
    let goUntil = 0
    const press = (event: KeyboardEvent) => {
      if (isPaletteKey(event)) {
        event.preventDefault()
        openPalette()
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const key = event.key.toLowerCase()
      if (Date.now() < goUntil) {
        goUntil = 0
        const target = goRoutes.find((entry) => entry.key === key)
        if (!target || group === '') return
        event.preventDefault()
        void navigate(navPath(target.route, group))
      } else if (key === 'g') goUntil = Date.now() + sequenceMs
      else if (key === '?') openShortcuts()
      else if (key === '/') {
        event.preventDefault()
        openPalette()
      }
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [group])
  return isHelpOpen.value ? <Help /> : null
}

const isPaletteKey = (event: KeyboardEvent) =>
  event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)

/** Shortcuts are off in fields and dialogs, and in trees and menus, where letters find items. */
const isTyping = (target: EventTarget | null) =>
  (target as Element | null)?.closest?.('input, textarea, select, dialog, [role=tree], [role=menu]') !== null

function Help() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const rows: [keys: string[], text: string][] = [
    [['Ctrl', 'K'], 'Search or go to'],
    [['/'], 'Search or go to'],
    [['?'], 'This help'],
    ...goRoutes.map(({ route, key }): [string[], string] => [
      ['G', key.toUpperCase()],
      `Go to ${route.title}`,
    ]),
    [['↑', '↓', '←', '→'], 'Move in the tree'],
  ]
  return (
    <dialog
      ref={dialog}
      aria-labelledby="shortcuts"
      onClose={() => {
        isHelpOpen.value = false
      }}
    >
      <div class="dialog-body">
        <h2 id="shortcuts">Keyboard shortcuts</h2>
        <dl class="properties">
          {rows.map(([keys, text]) => (
            <div key={keys.join(' ')}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <Button onClick={() => dialog.current?.close()}>Close</Button>
      </div>
    </dialog>
  )
}
