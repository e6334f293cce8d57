import { useSignal } from '@preact/signals'
import { api } from '../../api/api.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form.tsx'
import { saveFile } from '../../ui/save-file.ts'

/** Makes recovery codes, which are shown once. Earlier ones stop working. */
export function RecoveryCodes({ place }: PageProps) {
  const codes = useSignal<readonly string[]>([])
  const { run, isRunning, error } = useWrite(api.account.makeRecoveryCodes, { done: 'Recovery codes made' })
  const make = async () => {
    codes.value = (await run({}))?.codes ?? []
  }
  const text = codes.value.join('\n')
  return (
    <Dialog place={place} title="Recovery codes">
      {codes.value.length === 0 ? (
        <Form
          submit="Make recovery codes"
          isRunning={isRunning.value}
          error={error.value}
          onSubmit={make}
          onCancel={() => void closeDialog(place)}
        >
          <p>Each code works once in place of a code of the app. Codes that you made before stop working.</p>
        </Form>
      ) : (
        <div class="form">
          <p>Keep them where you can find them without your phone. They are not shown again.</p>
          <CodeBlock label="recovery codes" code={text} />
          <footer>
            <Button onClick={() => saveFile('stemma-recovery-codes.txt', `${text}\n`, 'text/plain')}>
              Download
            </Button>
            <Button tone="primary" onClick={() => void closeDialog(place)}>
              Done
            </Button>
          </footer>
        </div>
      )}
    </Dialog>
  )
}
