import { signal } from '@preact/signals'

export type Toast = { id: number; text: string; tone: 'done' | 'warning' | 'error' }

export const toasts = signal<readonly Toast[]>([])

const shownMs = 6000
/** If there are more, the oldest that is not an error is dropped. */
const maxShown = 4
let lastId = 0

export function toast(text: string, tone: Toast['tone'] = 'done'): void {
  const id = ++lastId
  const oldest = toasts.value.find((shown) => shown.tone !== 'error')
  if (oldest && toasts.value.length >= maxShown) dismiss(oldest.id)
  toasts.value = [...toasts.value, { id, text, tone }]
  // Errors stay until they are closed: nobody should miss them.
  if (tone !== 'error') setTimeout(() => dismiss(id), shownMs)
}

export const dismiss = (id: number) => {
  toasts.value = toasts.value.filter((entry) => entry.id !== id)
}

/** Shows a warning of a successful call. */
export const warn = ({ field, description }: { field: string; description: string }) =>
  toast(field === '' ? description : `${field}: ${description}`, 'warning')
