import type { ComponentChildren } from 'preact'
import type { PageProps } from '../router/route.ts'
import { Button } from './button.tsx'
import { CodeBlock } from './code-block.tsx'
import { closeDialog } from './dialog.tsx'

export type SecretProps = PageProps & {
  secret: string
  /** Names the secret, such as “token”. */
  label: string
  /** Says what the secret is for. */
  children: ComponentChildren
}

/** The last step of a dialog: shows a secret that the server returns only once. */
export const Secret = ({ place, secret, label, children }: SecretProps) => (
  <div class="form">
    <p>{children} It is not shown again.</p>
    <CodeBlock label={label} code={secret} />
    <footer>
      <Button tone="primary" onClick={() => void closeDialog(place)}>
        Done
      </Button>
    </footer>
  </div>
)
