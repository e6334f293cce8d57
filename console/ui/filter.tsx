// Filters of a list. Their values are query parameters of the URL; a change goes back to the first page.
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { Place } from '../router/route.ts'
import { hrefOf, navigate, withQuery } from '../router/router.ts'
import { Icon } from './icon.tsx'

/** Request fields of a list ordered by name and searched with the query parameter `name`. */
export const byName = ({ query }: Place) => ({
  orderBy: 'name',
  nameContains: query.get('name') || undefined,
})

export type SearchFilterProps = {
  place: Place
  /** The query parameter. */
  name: string
  /** Says what is searched, such as “Search groups by name”. */
  label: string
}

/** How long typing must pause before the list is loaded, in milliseconds. */
const pauseMs = 200

/** Another path is another list, so the field starts anew. */
export const SearchFilter = (props: SearchFilterProps) => <SearchField key={pathOf(props.place)} {...props} />

function SearchField({ place, name, label }: SearchFilterProps) {
  const id = useId()
  const timer = useRef(0)
  const input = useRef<HTMLInputElement>(null)
  const latest = useRef(place)
  latest.current = place
  const filter = place.query.get(name) ?? ''
  const applied = useRef(filter)
  useEffect(() => () => clearTimeout(timer.current), [])
  // A link or the back button can change the filter, too.
  useLayoutEffect(() => {
    if (filter === applied.current || !input.current) return
    clearTimeout(timer.current)
    applied.current = filter
    input.current.value = filter
  }, [place])
  const apply = (text: string) => {
    // Another page is loading: the person has left this one.
    if (!isOpen(latest.current)) return
    applied.current = text
    setFilter(latest.current, name, text)
  }
  const type = (text: string) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => apply(text.trim()), pauseMs) as unknown as number
  }
  return (
    <search class="filter">
      <label class="visually-hidden" for={id}>
        {label}
      </label>
      <Icon name="search" />
      <input
        ref={input}
        id={id}
        type="search"
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        defaultValue={filter}
        onInput={(event) => type(event.currentTarget.value)}
      />
    </search>
  )
}

export type ChoiceFilterProps = SearchFilterProps & { options: readonly { value: string; label: string }[] }

/** The option with an empty value means “all”. A value in the URL that is not in `options` is shown as an option. */
export function ChoiceFilter({ place, name, label, options }: ChoiceFilterProps) {
  const chosen = place.query.get(name) ?? ''
  const isKnown = options.some(({ value }) => value === chosen)
  return (
    <select
      class="filter"
      aria-label={label}
      value={chosen}
      onChange={(event) => setFilter(place, name, event.currentTarget.value)}
    >
      {options.map(({ value, label: text }) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
      {!isKnown && <option value={chosen}>{chosen}</option>}
    </select>
  )
}

/** A day, such as 2026-01-31. */
export const DateFilter = ({ place, name, label }: SearchFilterProps) => (
  <label class="date filter">
    {label}
    <input
      type="date"
      value={place.query.get(name) ?? ''}
      onChange={(event) => setFilter(place, name, event.currentTarget.value)}
    />
  </label>
)

/**
 * Replaces the entry of the history, so that the back button leaves the list. While the list of an
 * earlier change is loading, `place` is outdated, so the other filters are read from the URL.
 */
export function setFilter(place: Place, name: string, value: string): void {
  const query = isOpen(place) ? new URLSearchParams(location.search) : place.query
  const changes = { [name]: value, page: undefined, at: undefined }
  void navigate(withQuery({ ...place, query }, changes), { replace: true })
}

const pathOf = (place: Place) => place.href.split('?')[0] ?? ''

/** Whether the URL has the path of `place`. If it has not, another page is loading. */
const isOpen = (place: Place) => hrefOf(pathOf(place)) === location.pathname
