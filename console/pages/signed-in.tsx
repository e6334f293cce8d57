import { useEffect } from 'preact/hooks'
import { announceSignIn } from '../api/session.ts'
import { PageHeader } from '../ui/page-header.tsx'

/** The end of a sign-in in a window of its own. The page that asked for it goes on. */
export default function SignedIn() {
  useEffect(() => {
    announceSignIn()
    // Browsers may refuse this if the window has shown pages of other sites. It then shows the text below.
    close()
  }, [])
  return <PageHeader title="You are signed in" about="You can close this window and go on where you were." />
}
