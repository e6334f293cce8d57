// The command palette (shortcuts.tsx opens it): typing filters, Enter runs.
import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { useIsOperator } from '../api/account.ts'
import { useRead } from '../api/read.ts'
import { paths } from '../paths.ts'
import type { Place } from '../router/route.ts'
import { navigate } from '../router/router.ts'
import { groupRoutes, navPath, serverRoutes } from './navigation.tsx'
import { organizations } from './organizations.ts'
import type { PaletteAction } from './palette-state.ts'
import { isPaletteOpen, pageActions } from './palette-state.ts'
import { useFound } from './search.ts'
import { openShortcuts } from './shortcuts.tsx'

export const Palette = ({ place }: { place: Place | undefined }) =>
  isPaletteOpen.value ? <OpenPalette place={place} /> : null

const maxShown = 12

function OpenPalette({ place }: { place: Place | undefined }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const list = useRef<HTMLUListElement>(null)
  const text = useSignal('')
  const active = useSignal(0)
  const { data } = useRead(organizations)
  const results = useFound(text.value)
  const group = place?.group ?? ''
  const isOperator = useIsOperator()
  const all: PaletteAction[] = [
    ...pageActions.value,
    ...(group === ''
      ? []
      : groupRoutes.map((route) => ({ label: route.title, section: 'Go to', to: navPath(route, group) }))),
    { label: 'All organizations', section: 'Go to', to: paths.home() },
    ...(isOperator
      ? serverRoutes.map(({ title, path }) => ({ label: title, section: 'Server', to: path }))
      : []),
    { label: 'Keyboard shortcuts', section: 'Help', run: openShortcuts },
    ...(data?.groups ?? []).map(({ uid = '', name = '' }) => ({
      ...{ label: name, section: 'Organizations', to: paths.group(uid) },
    })),
  ]
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean)
  const isMatch = ({ label, section }: PaletteAction) =>
    words.every((word) => `${label} ${section}`.toLowerCase().includes(word))
  const found = withoutRepetitions([...all.filter(isMatch), ...(results ?? [])]).slice(0, maxShown)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const close = () => {
    // The focus returns to where it was only if the dialog is closed before it is removed.
    dialog.current?.close()
    isPaletteOpen.value = false
  }
  const run = (action: PaletteAction | undefined) => {
    if (!action) return
    close()
    if (action.to !== undefined) void navigate(action.to)
    action.run?.()
  }
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      if (found.length === 0) return
      active.value = (active.value + step + found.length) % found.length
      list.current?.children[active.value]?.scrollIntoView({ block: 'nearest' })
    } else if (event.key === 'Enter') {
      event.preventDefault()
      run(found[active.value])
    }
  }
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Search or go to"
      // The event is asynchronous: by then this dialog may be removed and another palette open.
      onClose={() => dialog.current && close()}
      onPointerDown={(event) => event.target === dialog.current && close()}
    >
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `palette-${active.value}` : undefined}
        aria-label="Search or go to"
        placeholder="Type a page, a name or an action, or paste a uid"
        autocomplete="off"
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value
          active.value = 0
        }}
        onKeyDown={press}
      />
      <ul
        ref={list}
        id="palette-list"
        role="listbox"
        aria-label="Results"
        // The focus stays in the field.
        onMouseDown={(event) => event.preventDefault()}
      >
        {found.map((action, at) => (
          <li
            key={`${action.section} ${action.label} ${action.to}`}
            id={`palette-${at}`}
            role="option"
            aria-selected={at === active.value}
            onClick={() => run(action)}
          >
            <span dir="auto">{action.label}</span>
            <span class="quiet">{action.section}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && !results && <p class="quiet">Searching…</p>}
      {found.length === 0 && results && (
        <p class="quiet">
          Nothing found. Groups and workloads are found by a part of their name or their uid, people by their
          uid or by the issuer and the subject of their tokens.
        </p>
      )}
    </dialog>
  )
}

/** An organization is also found as a group. */
function withoutRepetitions(actions: readonly PaletteAction[]): PaletteAction[] {
  const seen = new Set<string>()
  return actions.filter(({ to }) => to === undefined || (!seen.has(to) && seen.add(to)))
}
