// A dialog that is open while the URL says so (`?dialog=NAME`), so it can be shared and closes with the back button.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { Place } from '../router/route.ts'
import { hasNavigated, navigate, withQuery } from '../router/router.ts'
import { IconButton } from './button.tsx'

/**
 * The path that opens a dialog on the current page. `about` is the id of the thing that the dialog
 * is about, if the page shows several things.
 */
export const dialogPath = (place: Place, name: string, about?: string) =>
  withQuery(place, { dialog: name, about })

export const isDialogOpen = (place: Place, name: string) => place.query.get('dialog') === name

export const closeDialog = (place: Place) =>
  navigate(withQuery(place, { dialog: undefined, about: undefined }), { replace: true })

export type DialogProps = { place: Place; title: string; isWide?: boolean; children: ComponentChildren }

/** Drawn only while it is open: `{isDialogOpen(place, 'create') && <Dialog …>}`. */
export function Dialog({ place, title, isWide, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null
    const element = dialog.current
    element?.showModal()
    // Before the first navigation, another site may have opened the dialog while the person holds down
    // Enter. In a focused field, Enter would submit the form, so no field gets the focus.
    const stopWaiting = element && hasNavigated ? focusFirstField(element) : undefined
    return () => {
      stopWaiting?.()
      // An open dialog makes everything else inert, so nothing else could get the focus.
      element?.close()
      opener?.focus()
    }
  }, [])
  const close = () => void closeDialog(place)
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      class={isWide ? 'wide' : ''}
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onPointerDown={(event) => event.target === dialog.current && close()}
    >
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <IconButton icon="close" label="Close" onClick={close} />
        </header>
        {children}
      </div>
    </dialog>
  )
}

/**
 * Focuses the first field as soon as it exists, which may be after a part of the dialog has loaded
 * its data. Does nothing if the person has moved the focus before. The returned function ends the
 * wait.
 */
function focusFirstField(dialog: HTMLDialogElement): () => void {
  const first = document.activeElement
  const observer = new MutationObserver(() => focus())
  const focus = () => {
    const field = dialog.querySelector<HTMLElement>('input, select, textarea')
    if (!field) return
    observer.disconnect()
    if (document.activeElement === first) field.focus()
  }
  observer.observe(dialog, { childList: true, subtree: true })
  focus()
  return () => observer.disconnect()
}
