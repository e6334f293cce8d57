import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'

export function ChangePassword({ place }: PageProps) {
  const { run, isRunning, error } = useWrite(api.account.changePassword, {
    done: 'Password changed',
    after: () => closeDialog(place),
  })
  const change = async (values: FormData) => {
    const request = {
      currentPassword: String(values.get('current-password')),
      newPassword: String(values.get('new-password')),
    }
    await run(request)
  }
  return (
    <Dialog place={place} title="Change password">
      <Form
        submit="Change password"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={change}
        onCancel={() => void closeDialog(place)}
      >
        <p class="hint">Your other sessions end.</p>
        <TextField
          label="Current password"
          name="current-password"
          type="password"
          required
          autocomplete="current-password"
          problem={violationOf(error.value, 'current_password')}
        />
        <TextField
          label="New password"
          name="new-password"
          type="password"
          required
          autocomplete="new-password"
          problem={violationOf(error.value, 'new_password')}
        />
      </Form>
    </Dialog>
  )
}
