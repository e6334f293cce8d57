// The suggestions of a combobox: their search, and the one that the arrow keys select.
import type { Signal } from '@preact/signals'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

export type Option = { value: string; label: string; detail?: string | undefined }

/** How long typing must pause before the search starts, in milliseconds. */
const pauseMs = 200

/** `active` is the index of the option that Enter chooses, or -1. `list` is the element that contains the options. */
export function useSuggestions(
  find: (text: string) => Promise<readonly Option[]>,
  text: Signal<string>,
  choice: Signal<Option | undefined>,
) {
  const options = useSignal<readonly Option[]>([])
  const active = useSignal(-1)
  const list = useRef<HTMLUListElement>(null)
  const timer = useRef(0)
  const searchVersion = useRef(0)
  const areOptionsCurrent = useRef(false)

  const search = async () => {
    const version = ++searchVersion.current
    const found = await find(text.value).catch(() => [])
    if (version !== searchVersion.current) return
    options.value = found
    areOptionsCurrent.current = true
    active.value = firstActive(found, text.value, choice.value)
  }
  /** Until the next search ends, the suggestions are those for another text, and no key may choose one of them. */
  const outdate = () => {
    clearTimeout(timer.current)
    searchVersion.current++
    areOptionsCurrent.current = false
    active.value = -1
  }
  const searchNow = () => {
    outdate()
    void search()
  }
  const searchAfterPause = () => {
    outdate()
    timer.current = setTimeout(search, pauseMs) as unknown as number
  }
  const move = (step: number) => {
    const { length } = options.value
    if (!areOptionsCurrent.current || length === 0) return
    const from = active.value < 0 && step < 0 ? length : active.value
    active.value = (from + step + length) % length
    list.current?.children[active.value]?.scrollIntoView({ block: 'nearest' })
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  return { options, active, list, searchNow, searchAfterPause, move }
}

/** Only a typed text selects the first suggestion, so that Enter in an untouched field keeps its value. */
function firstActive(found: readonly Option[], text: string, choice: Option | undefined): number {
  if (choice) return found.findIndex(({ value }) => value === choice.value)
  return text.trim() === '' || found.length === 0 ? -1 : 0
}
