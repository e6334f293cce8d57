// A text field with a list of suggestions (ARIA 1.2, combobox with a listbox popup).
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { describedBy, FieldNotes } from './field.tsx'
import type { Option } from './suggestions.ts'
import { useSuggestions } from './suggestions.ts'

export type ComboboxProps = {
  label: string
  /** The name of the hidden field with the value of the chosen option. */
  name: string
  hint?: string
  problem?: string | undefined
  required?: boolean
  /** Whether it is a filter of a list: its label is in the field. */
  isFilter?: boolean
  /** Called when the focus or an arrow key opens the list, and 200 milliseconds after the last change of the text. */
  find(text: string): Promise<readonly Option[]>
  chosen?: Option
  /** The field becomes empty after each choice, so that several things can be chosen one after the other. */
  choosesSeveral?: boolean
  onChoose?: (option: Option | undefined) => void
  /** Called when the text is deleted. */
  onClear?: () => void
}

export function Combobox(props: ComboboxProps) {
  const { label, name, hint, problem, required, isFilter } = props
  const id = useId()
  const { text, choice, isOpen, suggestions, open, close, type, choose, press } = useCombobox(props)
  const { options, active, list } = suggestions
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    field.current?.setCustomValidity(faultOf(text.value, choice.value, required))
  }, [choice.value, text.value, required])
  return (
    <div class={`field combobox ${isFilter ? 'filter' : ''}`}>
      <label for={id} class={isFilter ? 'visually-hidden' : ''}>
        {label}
      </label>
      <div class="combobox-field">
        <input
          ref={field}
          id={id}
          type="text"
          role="combobox"
          autocomplete="off"
          spellcheck={false}
          required={required}
          placeholder={isFilter ? label : undefined}
          aria-expanded={isOpen.value}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={isOpen.value && active.value >= 0 ? `${id}-${active.value}` : undefined}
          aria-invalid={problem !== undefined}
          aria-describedby={describedBy(id, hint, problem)}
          value={text.value}
          onInput={(event) => type(event.currentTarget.value)}
          onFocus={open}
          onBlur={close}
          onKeyDown={press}
        />
        <input type="hidden" name={name} value={choice.value?.value ?? ''} />
        <SuggestionList
          list={list}
          id={id}
          label={label}
          options={options.value}
          active={active.value}
          isOpen={isOpen.value}
          onChoose={choose}
        />
      </div>
      <FieldNotes id={id} hint={hint} problem={problem} />
    </div>
  )
}

/** The state of the field, and what its events do. */
function useCombobox({ find, chosen, choosesSeveral, onChoose, onClear }: ComboboxProps) {
  const text = useSignal(chosen?.label ?? '')
  const choice = useSignal(chosen)
  const isOpen = useSignal(false)
  const suggestions = useSuggestions(find, text, choice)
  const isBlank = () => text.value.trim() === ''

  const open = () => {
    isOpen.value = true
    suggestions.searchNow()
  }
  const close = () => {
    isOpen.value = false
  }
  const type = (value: string) => {
    text.value = value
    choice.value = undefined
    if (!choosesSeveral) onChoose?.(undefined)
    if (isBlank()) onClear?.()
    isOpen.value = true
    suggestions.searchAfterPause()
  }
  const choose = (option: Option) => {
    choice.value = choosesSeveral ? undefined : option
    text.value = choosesSeveral ? '' : option.label
    close()
    onChoose?.(option)
  }
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      if (isOpen.value) suggestions.move(step)
      else open()
    } else if (event.key === 'Enter' && isOpen.value) {
      event.preventDefault()
      const option = suggestions.options.value[suggestions.active.value]
      if (option) choose(option)
      else if (choice.value || isBlank()) close()
    } else if (event.key === 'Escape' && isOpen.value) {
      event.preventDefault()
      event.stopPropagation()
      close()
    }
  }
  return { text, choice, isOpen, suggestions, open, close, type, choose, press }
}

/** Without a chosen suggestion, the typed text has no value, and the form would be sent as if the field were empty. */
function faultOf(text: string, choice: Option | undefined, required = false): string {
  // An empty field that is required is refused by the browser, but not one with spaces.
  const isEmpty = (required ? text : text.trim()) === ''
  if (choice !== undefined || isEmpty) return ''
  return required ? 'Choose one of the suggestions.' : 'Choose one of the suggestions, or clear the field.'
}

type SuggestionListProps = {
  list: RefObject<HTMLUListElement>
  /** The id of the field, with which the ids of the list and its options begin. */
  id: string
  label: string
  options: readonly Option[]
  active: number
  isOpen: boolean
  onChoose(option: Option): void
}

const SuggestionList = ({ list, id, label, options, active, isOpen, onChoose }: SuggestionListProps) => (
  <ul
    ref={list}
    id={`${id}-list`}
    role="listbox"
    aria-label={label}
    hidden={!isOpen || options.length === 0}
    // The focus stays in the field: the list closes when the field loses it.
    onMouseDown={(event) => event.preventDefault()}
  >
    {options.map((option, at) => (
      <li
        key={option.value}
        id={`${id}-${at}`}
        role="option"
        aria-selected={at === active}
        onClick={() => onChoose(option)}
      >
        <span dir="auto">{option.label}</span>
        {option.detail && <span class="quiet">{option.detail}</span>}
      </li>
    ))}
  </ul>
)
