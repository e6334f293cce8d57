// A text field with a list of suggestions (ARIA 1.2, combobox with a listbox popup).
import { useSignal } from '@preact/signals'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'

export type Option = { value: string; label: string; detail?: string | undefined }

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

export function Combobox({
  label,
  name,
  hint,
  problem,
  required,
  isFilter,
  find,
  chosen,
  choosesSeveral,
  onChoose,
  onClear,
}: ComboboxProps) {
  const id = useId()
  const text = useSignal(chosen?.label ?? '')
  const choice = useSignal(chosen)
  const options = useSignal<readonly Option[]>([])
  const active = useSignal(-1)
  const isOpen = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLUListElement>(null)
  const timer = useRef(0)
  const searchVersion = useRef(0)
  const areOptionsCurrent = useRef(false)
  const isBlank = () => text.value.trim() === ''

  const search = async () => {
    const version = ++searchVersion.current
    const found = await find(text.value).catch(() => [])
    if (version !== searchVersion.current) return
    options.value = found
    areOptionsCurrent.current = true
    active.value = firstActive(found)
  }
  /** Only a typed text selects the first suggestion, so that Enter in an untouched field keeps its value. */
  const firstActive = (found: readonly Option[]) => {
    if (choice.value) return found.findIndex(({ value }) => value === choice.value?.value)
    return isBlank() || found.length === 0 ? -1 : 0
  }
  /** Until the next search ends, the suggestions are those for another text, and no key may choose one of them. */
  const outdate = () => {
    clearTimeout(timer.current)
    searchVersion.current++
    areOptionsCurrent.current = false
    active.value = -1
  }
  const open = () => {
    isOpen.value = true
    outdate()
    void search()
  }
  const type = (value: string) => {
    text.value = value
    choice.value = undefined
    if (!choosesSeveral) onChoose?.(undefined)
    if (isBlank()) onClear?.()
    isOpen.value = true
    outdate()
    timer.current = setTimeout(search, 200) as unknown as number
  }
  const choose = (option: Option) => {
    choice.value = choosesSeveral ? undefined : option
    text.value = choosesSeveral ? '' : option.label
    isOpen.value = false
    onChoose?.(option)
  }
  const move = (step: number) => {
    const { length } = options.value
    if (!areOptionsCurrent.current || length === 0) return
    const from = active.value < 0 && step < 0 ? length : active.value
    active.value = (from + step + length) % length
    list.current?.children[active.value]?.scrollIntoView({ block: 'nearest' })
  }
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      if (isOpen.value) move(step)
      else open()
    } else if (event.key === 'Enter' && isOpen.value) {
      event.preventDefault()
      const option = options.value[active.value]
      if (option) choose(option)
      else if (choice.value || isBlank()) isOpen.value = false
    } else if (event.key === 'Escape' && isOpen.value) {
      event.preventDefault()
      event.stopPropagation()
      isOpen.value = false
    }
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  // Without a chosen suggestion, the typed text has no value, and the form would be sent as if the field were empty.
  useLayoutEffect(() => {
    // An empty field that is required is refused by the browser, but not one with spaces.
    const isEmpty = required ? text.value === '' : isBlank()
    const fault = required
      ? 'Choose one of the suggestions.'
      : 'Choose one of the suggestions, or clear the field.'
    field.current?.setCustomValidity(choice.value !== undefined || isEmpty ? '' : fault)
  }, [choice.value, text.value, required])

  const describedBy = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ')
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
          aria-describedby={describedBy || undefined}
          value={text.value}
          onInput={(event) => type(event.currentTarget.value)}
          onFocus={open}
          onBlur={() => {
            isOpen.value = false
          }}
          onKeyDown={press}
        />
        <input type="hidden" name={name} value={choice.value?.value ?? ''} />
        <ul
          ref={list}
          id={`${id}-list`}
          role="listbox"
          aria-label={label}
          hidden={!isOpen.value || options.value.length === 0}
          // The focus stays in the field: the list closes when the field loses it.
          onMouseDown={(event) => event.preventDefault()}
        >
          {options.value.map((option, at) => (
            <li
              key={option.value}
              id={`${id}-${at}`}
              role="option"
              aria-selected={at === active.value}
              onClick={() => choose(option)}
            >
              <span dir="auto">{option.label}</span>
              {option.detail && <span class="quiet">{option.detail}</span>}
            </li>
          ))}
        </ul>
      </div>
      {problem && (
        <p class="field-problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}
