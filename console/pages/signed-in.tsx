import { useEffect } from 'preact/hooks'
import { announceSignIn } from '../api/session.ts'
import { PageHeader } from '../ui/page-header.tsx'

/** Shown at the end of a sign-in in a separate window. The page that asked for the sign-in continues. */
export default function SignedIn() {
  useEffect(() => {
    announceSignIn()
    // Browsers may refuse this if the window has shown pages of other sites. It then shows the text below.
    close()
  }, [])
  return <PageHeader title="You are signed in" about="You can close this window and go on where you were." />
}
