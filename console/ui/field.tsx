import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'

type Common = {
  label: string
  name: string
  /** A sentence below the field. */
  hint?: ComponentChildren
  /** The fault of the value, see `violationOf`. */
  problem?: string | undefined
}

type Described = { id: string; 'aria-invalid': boolean; 'aria-describedby': string | undefined }

function Labelled({
  label,
  hint,
  problem,
  children,
}: Common & { children: (attributes: Described) => ComponentChildren }) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-invalid': problem !== undefined,
        'aria-describedby': describedBy(id, hint, problem),
      })}
      <FieldNotes id={id} hint={hint} problem={problem} />
    </div>
  )
}

/** The ids of the notes that a field with this id has. */
export const describedBy = (id: string, hint: ComponentChildren, problem: string | undefined) =>
  [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ') || undefined

/** The problem and the hint below the field with this id. */
export const FieldNotes = ({ id, hint, problem }: Pick<Common, 'hint' | 'problem'> & { id: string }) => (
  <>
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
  </>
)

export type TextFieldProps = Common & Omit<JSX.IntrinsicElements['input'], 'label' | 'name'>

export const TextField = ({ label, name, hint, problem, ...rest }: TextFieldProps) => (
  <Labelled {...{ label, name, hint, problem }}>
    {(attributes) => (
      <input type="text" autocomplete="off" spellcheck={false} {...rest} {...attributes} name={name} />
    )}
  </Labelled>
)

/** A date and a time. The browser would accept years after 9999, but neither JavaScript nor the API parses them. */
export const TimeField = (props: TextFieldProps) => (
  <TextField type="datetime-local" max="9999-12-31T23:59" {...props} />
)

export type TextAreaProps = Common & Omit<JSX.IntrinsicElements['textarea'], 'label' | 'name'>

export const TextArea = ({ label, name, hint, problem, ...rest }: TextAreaProps) => (
  <Labelled {...{ label, name, hint, problem }}>
    {(attributes) => <textarea rows={3} {...rest} {...attributes} name={name} />}
  </Labelled>
)

export type SelectProps = Common &
  Omit<JSX.IntrinsicElements['select'], 'label' | 'name'> & {
    options: readonly { value: string; label: string }[]
  }

export const Select = ({ label, name, hint, problem, options, defaultValue, ...rest }: SelectProps) => (
  <Labelled {...{ label, name, hint, problem }}>
    {(attributes) => (
      <select {...rest} {...attributes} name={name}>
        {options.map(({ value, label: text }) => (
          <option key={value} value={value} selected={value === defaultValue}>
            {text}
          </option>
        ))}
      </select>
    )}
  </Labelled>
)

export const Checkbox = ({ label, name, hint, ...rest }: Omit<TextFieldProps, 'problem'>) => (
  <div class="field checkbox">
    <label>
      <input type="checkbox" {...rest} name={name} /> {label}
    </label>
    {hint && <p class="hint">{hint}</p>}
  </div>
)
