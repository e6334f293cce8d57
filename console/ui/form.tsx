import type { ComponentChildren } from 'preact'
import { errorText } from '../api/error-text.ts'
import { Button } from './button.tsx'

export type FormProps = {
  submit: string
  tone?: 'primary' | 'danger'
  isRunning: boolean
  error: unknown
  disabledReason?: string | undefined
  onSubmit(values: FormData): void
  /** Called when a value changes. */
  onInput?: () => void
  onCancel?: () => void
  children: ComponentChildren
}

/**
 * A form with uncontrolled fields: `onSubmit` gets their values. An error of the server is shown
 * above the buttons.
 */
export function Form({
  submit,
  tone = 'primary',
  isRunning,
  error,
  disabledReason,
  onSubmit,
  onInput,
  onCancel,
  children,
}: FormProps) {
  const send = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault()
    if (disabledReason === undefined) onSubmit(new FormData(event.currentTarget))
  }
  return (
    <form class="form" onSubmit={send} onInput={onInput} onKeyDown={ignoreRepeatedEnter}>
      {children}
      {error !== undefined && <Problem error={error} />}
      <footer>
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        <Button type="submit" tone={tone} isBusy={isRunning} disabledReason={disabledReason}>
          {submit}
        </Button>
      </footer>
    </form>
  )
}

/** An Enter key that was held down before the form appeared must not send it. In a text area it adds lines. */
function ignoreRepeatedEnter(event: KeyboardEvent): void {
  if (event.key === 'Enter' && event.repeat && !(event.target instanceof HTMLTextAreaElement))
    event.preventDefault()
}

export function Problem({ error }: { error: unknown }) {
  const { title, text, requestId } = errorText(error)
  return (
    <div class="problem" role="alert">
      <strong>{title}</strong>
      <p>{text}</p>
      {requestId && <p class="quiet small">Request {requestId}</p>}
    </div>
  )
}
