import type { PageProps } from '../../router/route.ts'
import { Secret as ShownSecret } from '../../ui/secret.tsx'

/** The secret of a subscription, which the server shows only now. */
export const Secret = ({ place, secret }: PageProps & { secret: string }) => (
  <ShownSecret place={place} secret={secret} label="secret">
    The receiver verifies signatures with this secret.
  </ShownSecret>
)
