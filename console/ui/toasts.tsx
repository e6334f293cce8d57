import { IconButton } from './button.tsx'
import { dismiss, toasts } from './toast.ts'

/** The list is always there: screen readers announce only what is added to a region that exists. */
export const Toasts = () => (
  <div class="toasts" role="status">
    {toasts.value.map(({ id, text, tone }) => (
      <div key={id} class={`toast ${tone}`}>
        <p>{text}</p>
        <IconButton icon="close" label="Dismiss" onClick={() => dismiss(id)} />
      </div>
    ))}
  </div>
)
