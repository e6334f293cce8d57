// Asks the person to sign in again. They do so in another window, so that nothing that was typed here is lost.
import { useLayoutEffect, useRef } from 'preact/hooks'
import { queries } from '../api/queries.ts'
import type { SignInReason } from '../api/session.ts'
import { onSignedIn, openSignIn, signInReason, stopAsking } from '../api/session.ts'
import { navigate, shown } from '../router/router.ts'
import { Button } from '../ui/button.tsx'

const texts: Record<SignInReason, { title: string; text: string }> = {
  ended: {
    title: 'Your session has ended',
    text: 'You were signed out, or the session has expired. Sign in again to continue on this page.',
  },
  'not-fresh': {
    title: 'Sign in again',
    text: 'This change is important, and you signed in a while ago. Sign in once more, and the change is made.',
  },
}

export const SignInAgain = () => (signInReason.value ? <SignInDialog reason={signInReason.value} /> : null)

function SignInDialog({ reason }: { reason: SignInReason }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const opener = document.activeElement as HTMLElement | null
    dialog.current?.showModal()
    const forget = onSignedIn(loadAgain)
    return () => {
      forget()
      opener?.focus()
    }
  }, [])
  const { title, text } = texts[reason]
  const cancel = () => reason === 'not-fresh' && stopAsking(false)
  return (
    <dialog
      ref={dialog}
      aria-labelledby="sign-in-again"
      onCancel={(event) => {
        event.preventDefault()
        cancel()
      }}
      // Chrome closes a dialog at the second Esc, even if `cancel` is prevented.
      onClose={() => reason === 'ended' && dialog.current?.showModal()}
    >
      <div class="dialog-body">
        <h2 id="sign-in-again">{title}</h2>
        <p>{text}</p>
        <footer class="actions end">
          {reason === 'not-fresh' && <Button onClick={cancel}>Cancel</Button>}
          <Button tone="primary" onClick={() => openSignIn(reason)}>
            Sign in
          </Button>
        </footer>
      </div>
    </dialog>
  )
}

/** Loads all data again, and the page if it could not be shown without a session. */
function loadAgain(): void {
  void queries.invalidateQueries()
  const { value } = shown
  if (value && 'error' in value) void navigate(value.href, { replace: true })
}
