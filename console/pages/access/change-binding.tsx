import type { RoleBindingJson } from '@stemma/api/json/platform/iam/v2beta1/role_binding'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { read, useRead } from '../../api/read.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { ExpiryField, expiryOf } from './expiry.tsx'

/** Changes expiry and reason of the role binding in the query parameter `about`. */
export function ChangeBinding({ place }: PageProps) {
  const uid = place.query.get('about') ?? ''
  const { data: binding, error: readError } = useRead(read(api.roleBindings.getRoleBinding, { uid }))
  const { run, isRunning, error } = useWrite(api.roleBindings.updateRoleBinding, {
    done: 'Access changed',
    after: () => closeDialog(place),
  })
  const change = async (values: FormData) => {
    const expireTime = expiryOf(values, binding?.expireTime)
    const roleBinding = { uid, reason: String(values.get('reason')), ...(expireTime && { expireTime }) }
    const mask = updateMask<RoleBindingJson>(binding ?? {}, roleBinding, ['expireTime', 'reason'])
    await run({ roleBinding, updateMask: mask })
  }
  return (
    <Dialog place={place} title="Change access">
      {readError && <Problem error={readError} />}
      {!binding && !readError && <Skeleton />}
      {binding && (
        <Form
          submit="Save"
          isRunning={isRunning.value}
          error={error.value}
          onSubmit={change}
          onCancel={() => void closeDialog(place)}
        >
          <p>
            <strong dir="auto">{binding.identity?.name || binding.identity?.email}</strong> has the role{' '}
            <strong>{binding.role?.name}</strong> in {binding.group?.name}.
          </p>
          <ExpiryField
            key={binding.expireTime}
            expireTime={binding.expireTime}
            problem={violationOf(error.value, 'expire_time')}
          />
          <TextField
            label="Reason"
            name="reason"
            maxLength={1000}
            defaultValue={binding.reason ?? ''}
            problem={violationOf(error.value, 'reason')}
          />
        </Form>
      )}
    </Dialog>
  )
}
