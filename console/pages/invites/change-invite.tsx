import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { read, useData, useRead } from '../../api/read.ts'
import { readRoles, roleOptions, rolesFor } from '../../api/roles.ts'
import { parentOf } from '../../api/uids.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Select } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Time } from '../../ui/time.tsx'
import { lifetimes } from '../access/invite-person.tsx'

/** Changes the invite in the query parameter `about`, but not its link. */
export function ChangeInvite({ place }: PageProps) {
  const uid = place.query.get('about') ?? ''
  const { roles = [] } = useData(readRoles(place.group))
  const { data: invite, error: readError } = useRead(read(api.groupInvites.getGroupInvite, { uid }))
  const { run, isRunning, error } = useWrite(api.groupInvites.updateGroupInvite, {
    ...{ done: 'Invite changed', after: () => closeDialog(place) },
  })
  const change = (values: FormData) => {
    const ttl = String(values.get('ttl'))
    const changed = {
      ...{ uid, roleUid: String(values.get('role')), singleUse: values.get('single-use') !== null },
      ...(ttl && { ttl }),
    }
    const mask = updateMask(invite ?? {}, changed, ['roleUid', 'singleUse', 'ttl'])
    void run({ groupInvite: changed, updateMask: mask })
  }
  return (
    <Dialog place={place} title="Change the invite">
      {readError && <Problem error={readError} />}
      {!invite && !readError && <Skeleton />}
      {invite && (
        <Form
          submit="Save"
          isRunning={isRunning.value}
          error={error.value}
          onSubmit={change}
          onCancel={() => void closeDialog(place)}
        >
          <p>
            For <strong dir="auto">{invite.email || 'whoever has the link'}</strong>, expires{' '}
            <Time at={invite.expirationTime} />. Its link stays the same.
          </p>
          <Select
            label="Role"
            name="role"
            required
            defaultValue={invite.roleUid}
            options={roleOptions(rolesFor(parentOf(uid), roles), invite.roleUid, invite.role?.name)}
            problem={violationOf(error.value, 'role_uid')}
          />
          <Select
            label="Valid for"
            name="ttl"
            options={[{ value: '', label: 'Unchanged' }, ...lifetimes]}
            problem={violationOf(error.value, 'ttl')}
          />
          <Checkbox label="Can be used only once" name="single-use" defaultChecked={invite.singleUse} />
        </Form>
      )}
    </Dialog>
  )
}
