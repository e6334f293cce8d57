// The account of the signed-in person: name, second factors, password and sessions.
import { readAccount } from '../../api/account.ts'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useData } from '../../api/read.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { Uid } from '../../ui/copy.tsx'
import { closeDialog, Dialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Properties } from '../../ui/properties.tsx'
import { AddAuthenticatorApp, AuthenticatorApp } from './authenticator-app.tsx'
import { ChangePassword } from './change-password.tsx'
import { AddPasskey, Passkeys, RemovePasskey, RenamePasskey } from './passkeys.tsx'
import { Profile, readProfile } from './profile.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { readSessions, Sessions } from './sessions.tsx'

export const load = () => [readAccount(), readSessions(), readProfile()]

export default function Account({ place }: PageProps) {
  const account = useData(readAccount())
  const { uid = '', name = '', email, emailVerified, local = false, requiringOrganizations = [] } = account
  const isRequired = requiringOrganizations.length > 0
  const notLocal = local
    ? undefined
    : 'You sign in through your organization, which manages your password and second factors.'
  return (
    <>
      <PageHeader
        title="My account"
        about={local ? 'Your password, your second factors and where you are signed in.' : notLocal}
        actions={
          <>
            <ButtonLink to={dialogPath(place, 'rename')}>Change name</ButtonLink>
            <ButtonLink to={dialogPath(place, 'password')} disabledReason={notLocal}>
              Change password
            </ButtonLink>
          </>
        }
      />
      <section class="panel">
        <h2>Person</h2>
        <Properties
          rows={[
            ['Name', name],
            [
              'E-mail address',
              email && (
                <>
                  {email} {emailVerified && <Badge tone="good">verified</Badge>}
                </>
              ),
            ],
            ['Uid', <Uid key="uid" uid={uid} />],
            ['Second factor', isRequired && 'required by an organization that you belong to'],
          ]}
        />
      </section>
      <Profile place={place} />
      <Passkeys place={place} passkeys={account.passkeys ?? []} disabledReason={notLocal} />
      <AuthenticatorApp place={place} account={account} disabledReason={notLocal} />
      <Sessions />
      <PageCommands stemma="stemma account get" curl={{ path: '/iam/v2beta1/account' }} />
      {isDialogOpen(place, 'rename') && <Rename place={place} name={name} />}
      {isDialogOpen(place, 'password') && <ChangePassword place={place} />}
      {isDialogOpen(place, 'passkey') && <AddPasskey place={place} />}
      {isDialogOpen(place, 'rename-passkey') && (
        <RenamePasskey place={place} passkeys={account.passkeys ?? []} />
      )}
      {isDialogOpen(place, 'remove-passkey') && (
        <RemovePasskey place={place} passkeys={account.passkeys ?? []} />
      )}
      {isDialogOpen(place, 'app') && <AddAuthenticatorApp place={place} />}
      {isDialogOpen(place, 'recovery') && <RecoveryCodes place={place} />}
    </>
  )
}

function Rename({ place, name }: PageProps & { name: string }) {
  const { run, isRunning, error } = useWrite(api.account.renameAccount, {
    done: 'Name changed',
    after: () => closeDialog(place),
  })
  const rename = async (values: FormData) => {
    await run({ name: String(values.get('name')) })
  }
  return (
    <Dialog place={place} title="Change name">
      <Form
        submit="Save"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={rename}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          label="Name"
          name="name"
          required
          defaultValue={name}
          autocomplete="name"
          problem={violationOf(error.value, 'name')}
        />
      </Form>
    </Dialog>
  )
}
