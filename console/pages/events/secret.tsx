import type { PageProps } from '../../router/route.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { closeDialog } from '../../ui/dialog.tsx'

/** A secret that the server shows only now. */
export const Secret = ({ place, secret }: PageProps & { secret: string }) => (
  <div class="form">
    <p>The receiver verifies signatures with this secret. It is not shown again.</p>
    <CodeBlock label="secret" code={secret} />
    <footer>
      <Button tone="primary" onClick={() => void closeDialog(place)}>
        Done
      </Button>
    </footer>
  </div>
)
