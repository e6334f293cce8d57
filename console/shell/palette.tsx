// The command palette (shortcuts.tsx opens it): typing filters, Enter runs.
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Place } from '../router/route.ts'
import { navigate } from '../router/router.ts'
import { useOfferedActions } from './offered-actions.ts'
import type { PaletteAction } from './palette-state.ts'
import { isPaletteOpen } from './palette-state.ts'
import { useFound } from './search.ts'

export const Palette = ({ place }: { place: Place | undefined }) =>
  isPaletteOpen.value ? <OpenPalette place={place} /> : null

const maxShown = 12

function OpenPalette({ place }: { place: Place | undefined }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const list = useRef<HTMLUListElement>(null)
  const text = useSignal('')
  const active = useSignal(0)
  const { shown, isSearching } = useShown(place, text.value)
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
      if (shown.length === 0) return
      active.value = (active.value + step + shown.length) % shown.length
      list.current?.children[active.value]?.scrollIntoView({ block: 'nearest' })
    } else if (event.key === 'Enter') {
      event.preventDefault()
      run(shown[active.value])
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
        aria-activedescendant={shown.length > 0 ? `palette-${active.value}` : undefined}
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
      <Results list={list} actions={shown} active={active.value} onRun={run} />
      {shown.length === 0 && <NothingShown isSearching={isSearching} />}
    </dialog>
  )
}

/** The actions and the results of the search that match the text. */
function useShown(place: Place | undefined, text: string) {
  const offered = useOfferedActions(place)
  const results = useFound(text)
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const isMatch = ({ label, section }: PaletteAction) =>
    words.every((word) => `${label} ${section}`.toLowerCase().includes(word))
  const shown = withoutRepetitions([...offered.filter(isMatch), ...(results ?? [])]).slice(0, maxShown)
  return { shown, isSearching: results === undefined }
}

/** An organization is also found as a group. */
function withoutRepetitions(actions: readonly PaletteAction[]): PaletteAction[] {
  const seen = new Set<string>()
  return actions.filter(({ to }) => to === undefined || (!seen.has(to) && seen.add(to)))
}

type ResultsProps = {
  list: RefObject<HTMLUListElement>
  actions: readonly PaletteAction[]
  active: number
  onRun(action: PaletteAction): void
}

const Results = ({ list, actions, active, onRun }: ResultsProps) => (
  <ul
    ref={list}
    id="palette-list"
    role="listbox"
    aria-label="Results"
    // The focus stays in the field.
    onMouseDown={(event) => event.preventDefault()}
  >
    {actions.map((action, at) => (
      <li
        key={`${action.section} ${action.label} ${action.to}`}
        id={`palette-${at}`}
        role="option"
        aria-selected={at === active}
        onClick={() => onRun(action)}
      >
        <span dir="auto">{action.label}</span>
        <span class="quiet">{action.section}</span>
      </li>
    ))}
  </ul>
)

const NothingShown = ({ isSearching }: { isSearching: boolean }) =>
  isSearching ? (
    <p class="quiet">Searching…</p>
  ) : (
    <p class="quiet">
      Nothing found. Groups and workloads are found by a part of their name or their uid, people by their uid
      or by the issuer and the subject of their tokens.
    </p>
  )
