// How long a role binding lasts.
import { useSignal } from '@preact/signals'
import { Select, TimeField } from '../../ui/field.tsx'

const hour = 3_600_000
const choices = [
  { value: '', label: 'Never' },
  { value: String(8 * hour), label: 'In 8 hours' },
  { value: String(24 * hour), label: 'In a day' },
  { value: String(7 * 24 * hour), label: 'In a week' },
  { value: String(30 * 24 * hour), label: 'In 30 days' },
  { value: 'date', label: 'At a time of your choice' },
]

type ExpiryFieldProps = { problem: string | undefined; expireTime?: string | undefined }

export function ExpiryField({ problem, expireTime }: ExpiryFieldProps) {
  const choice = useSignal(expireTime ? 'date' : '')
  return (
    <>
      <Select
        label="Ends"
        name="expiry"
        value={choice.value}
        options={choices}
        problem={choice.value === 'date' ? undefined : problem}
        onChange={(event) => {
          choice.value = event.currentTarget.value
        }}
      />
      {choice.value === 'date' && (
        <TimeField
          label="Date and time"
          name="expiry-date"
          required
          defaultValue={expireTime ? localTime(new Date(expireTime)) : undefined}
          problem={problem}
        />
      )}
    </>
  )
}

/**
 * The chosen time as the API expects it; undefined if the role does not end. `current` is the
 * expiry before the edit. It is returned if the field, which shows no seconds, is unchanged.
 */
export function expiryOf(values: FormData, current?: string): string | undefined {
  const choice = String(values.get('expiry') ?? '')
  if (choice === '') return undefined
  const date = String(values.get('expiry-date') ?? '')
  if (choice !== 'date') return new Date(Date.now() + Number(choice)).toISOString()
  if (current && date === localTime(new Date(current))) return current
  return date === '' ? undefined : new Date(date).toISOString()
}

/** The value of a field of type datetime-local. */
function localTime(time: Date): string {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
