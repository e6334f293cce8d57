import { useLayoutEffect, useRef } from 'preact/hooks'
import { signIn } from '../api/session.ts'
import { Button } from '../ui/button.tsx'

/** The page stays below it, so that nothing that was typed is lost before the person decides. */
export function SessionEndedDialog() {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} aria-labelledby="session-ended" onCancel={(event) => event.preventDefault()}>
      <div class="dialog-body">
        <h2 id="session-ended">Your session has ended</h2>
        <p>You were signed out, or the session has expired. Sign in again to continue on this page.</p>
        <Button tone="primary" onClick={signIn}>
          Sign in
        </Button>
      </div>
    </dialog>
  )
}
