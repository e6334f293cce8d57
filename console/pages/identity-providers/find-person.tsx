// Finds the identity of a person by the subject that the provider has for them.
import { useSignal } from '@preact/signals'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../router/route.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'

export function FindPerson({ place, issuer }: PageProps & { issuer: string }) {
  const found = useSignal('')
  const { run, isRunning, error } = useWrite(api.identities.lookupIdentity)
  const find = async (values: FormData) => {
    const response = await run({ issuer, subject: String(values.get('subject')).trim() })
    found.value = response?.uid ?? ''
  }
  const query = new URLSearchParams({ identity: found.value })
  return (
    <Dialog place={place} title="Find a person">
      <Form
        submit="Find"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={find}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          label="Subject"
          name="subject"
          required
          maxLength={1024}
          hint="The claim sub of the person’s tokens or, if people are recognised by the claim oid, “oid:” followed by that claim."
          problem={violationOf(error.value, 'subject')}
        />
        {found.value && (
          <div aria-live="polite">
            <p>The person has this uid, whether they have signed in or not:</p>
            <CodeBlock label="uid" code={found.value} />
            <div class="actions">
              <ButtonLink to={`${paths.access(place.group)}?${query}`}>Roles here</ButtonLink>
              <ButtonLink to={`${paths.why(place.group)}?${query}`}>Why</ButtonLink>
            </div>
          </div>
        )}
      </Form>
    </Dialog>
  )
}
