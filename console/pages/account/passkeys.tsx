// Passkeys: keys in the browser, the phone or a security key, with which the person signs in.
import { useSignal } from '@preact/signals'
import type { PasskeyJson } from '@stemma/api/json/platform/iam/v2beta1/account'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog, Dialog, dialogPath } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

type PasskeysProps = PageProps & { passkeys: readonly PasskeyJson[] }

export function Passkeys({
  place,
  passkeys,
  disabledReason,
}: PasskeysProps & { disabledReason: string | undefined }) {
  return (
    <section class="panel flush">
      <div class="panel-header inset">
        <h2>Passkeys</h2>
        <ButtonLink to={dialogPath(place, 'passkey')} icon="plus" disabledReason={disabledReason}>
          Add a passkey
        </ButtonLink>
      </div>
      {passkeys.length === 0 ? (
        <Empty icon="access" title="No passkeys">
          A passkey cannot be guessed, and works only on this site.
        </Empty>
      ) : (
        <Table
          label="Passkeys"
          rows={passkeys}
          uidOf={({ id = '' }) => id}
          nameOf={({ name = '' }) => name}
          hasUids={false}
          columns={[
            { title: 'Name', cell: ({ name }) => name },
            { title: 'Added', cell: ({ createTime }) => <Time at={createTime} /> },
            { title: 'Last used', cell: ({ lastUseTime }) => <Time at={lastUseTime} />, isSecondary: true },
          ]}
          actions={({ id }) => [
            { label: 'Rename', to: dialogPath(place, 'rename-passkey', id) },
            { label: 'Remove', to: dialogPath(place, 'remove-passkey', id), isDanger: true },
          ]}
        />
      )}
    </section>
  )
}

export function AddPasskey({ place }: PageProps) {
  const begin = useWrite(api.account.beginPasskey)
  const register = useWrite(api.account.registerPasskey, {
    done: 'Passkey added',
    after: () => closeDialog(place),
  })
  const refused = useSignal<Error | undefined>(undefined)
  const add = async (values: FormData) => {
    refused.value = undefined
    register.error.value = undefined
    const options = await begin.run({})
    if (!options) return
    try {
      const credential = await createCredential(options.optionsJson ?? '{}')
      const request = { name: String(values.get('name')), responseJson: JSON.stringify(credential) }
      await register.run(request)
    } catch {
      // The browser does not say why: the person cancelled, or the device cannot store passkeys.
      refused.value = new Error('The browser did not make a passkey. Try again, or use another device.')
    }
  }
  return (
    <Dialog place={place} title="Add a passkey">
      <Form
        submit="Add passkey"
        isRunning={begin.isRunning.value || register.isRunning.value}
        error={begin.error.value ?? register.error.value ?? refused.value}
        onSubmit={add}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          label="Name"
          name="name"
          required
          hint="A name that you will recognise, such as that of the device."
          problem={violationOf(register.error.value, 'name')}
        />
      </Form>
    </Dialog>
  )
}

async function createCredential(optionsJson: string): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(optionsJson))
  const credential = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential | null
  if (!credential) throw new Error('no credential')
  return credential.toJSON()
}

const nameOfPasskey = (passkeys: readonly PasskeyJson[], id: string) =>
  passkeys.find((passkey) => passkey.id === id)?.name ?? ''

export function RenamePasskey({ place, passkeys }: PasskeysProps) {
  const id = place.query.get('about') ?? ''
  const { run, isRunning, error } = useWrite(api.account.renamePasskey, {
    done: 'Passkey renamed',
    after: () => closeDialog(place),
  })
  const rename = async (values: FormData) => {
    await run({ id, name: String(values.get('name')) })
  }
  return (
    <Dialog place={place} title="Rename the passkey">
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
          defaultValue={nameOfPasskey(passkeys, id)}
          problem={violationOf(error.value, 'name')}
        />
      </Form>
    </Dialog>
  )
}

export function RemovePasskey({ place, passkeys }: PasskeysProps) {
  const id = place.query.get('about') ?? ''
  const { run, isRunning, error } = useWrite(api.account.removePasskey, {
    done: 'Passkey removed',
    after: () => closeDialog(place),
  })
  const remove = async () => {
    await run({ id })
  }
  return (
    <ConfirmDelete
      place={place}
      verb="Remove"
      kind="passkey"
      name={nameOfPasskey(passkeys, id)}
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={remove}
    >
      <p>You can no longer sign in with it.</p>
    </ConfirmDelete>
  )
}
