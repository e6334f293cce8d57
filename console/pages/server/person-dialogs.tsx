// The dialogs that change a person. Each describes the effects of the change before it is made.

import { useSignal } from '@preact/signals'
import type { UnaryCall } from '@stemma/api/json'
import type { PersonJson } from '@stemma/api/json/platform/server/v2beta1/person'
import type { ComponentChildren } from 'preact'
import { api } from '../../api/api.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog, Dialog, isDialogOpen } from '../../ui/dialog.tsx'
import { Form } from '../../ui/form.tsx'

export function PersonDialogs({ place, people }: PageProps & { people: readonly PersonJson[] }) {
  const uid = place.query.get('about') ?? ''
  const person = people.find((entry) => entry.uid === uid)
  if (!person) return null
  const props = { place, person }
  return (
    <>
      {isDialogOpen(place, 'disable') && (
        <Change
          {...props}
          call={api.people.disablePerson}
          {...{ title: 'Disable', submit: 'Disable', done: 'Person disabled', tone: 'danger' }}
        >
          All sessions and tokens end at once, and new sign-ins are refused until you enable the person again.
          Roles stay as they are.
        </Change>
      )}
      {isDialogOpen(place, 'enable') && (
        <Change
          {...props}
          call={api.people.enablePerson}
          {...{ title: 'Enable', submit: 'Enable', done: 'Person enabled', tone: 'primary' }}
        >
          The person can sign in again, with the roles that they have. Earlier sessions stay ended.
        </Change>
      )}
      {isDialogOpen(place, 'sign-out') && (
        <Change
          {...props}
          call={api.people.signOutPerson}
          {...{ title: 'Sign out', submit: 'Sign out', done: 'Signed out everywhere', tone: 'primary' }}
        >
          All sessions and tokens end at once. The person can sign in again.
        </Change>
      )}
      {isDialogOpen(place, 'reset-second-factors') && (
        <Change
          {...props}
          call={api.people.resetPersonSecondFactors}
          {...{
            title: 'Reset second factors of',
            submit: 'Reset',
            done: 'Second factors reset',
            tone: 'danger',
          }}
        >
          Removes the passkeys, the authenticator app and the recovery codes, and ends all sessions. Make sure
          that it is really this person who asks.
        </Change>
      )}
      {isDialogOpen(place, 'reset-password') && <ResetPassword {...props} />}
      {isDialogOpen(place, 'remove') && <Remove {...props} />}
    </>
  )
}

type PersonProps = PageProps & { person: PersonJson }

type ChangeProps<Response> = PersonProps & {
  call: UnaryCall<{ uid?: string }, Response>
  /** The part of the title before the name of the person. */
  title: string
  submit: string
  done: string
  tone: 'primary' | 'danger'
  children: ComponentChildren
}

function Change<Response>({
  place,
  person,
  call,
  title,
  submit,
  done,
  tone,
  children,
}: ChangeProps<Response>) {
  const { run, isRunning, error } = useWrite(call, { done, after: () => closeDialog(place) })
  return (
    <Dialog place={place} title={`${title} ${person.name}?`}>
      <Form
        {...{ submit, tone }}
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={() => void run({ uid: person.uid ?? '' })}
        onCancel={() => void closeDialog(place)}
      >
        <p>{children}</p>
      </Form>
    </Dialog>
  )
}

/** The link stays until the dialog is closed; the server does not show it again. */
function ResetPassword({ place, person }: PersonProps) {
  const link = useSignal('')
  const { run, isRunning, error } = useWrite(api.people.resetPersonPassword)
  const reset = async () => {
    link.value = (await run({ uid: person.uid ?? '' }))?.url ?? ''
  }
  return (
    <Dialog place={place} title={`Reset the password of ${person.name}?`}>
      {link.value === '' ? (
        <Form
          submit="Reset password"
          tone="danger"
          isRunning={isRunning.value}
          error={error.value}
          onSubmit={() => void reset()}
          onCancel={() => void closeDialog(place)}
        >
          <p>
            The password, all sessions and all tokens end at once. You get a link at which the person chooses
            another password.
          </p>
        </Form>
      ) : (
        <div class="form">
          <p>Give this link to the person. It works once, within three days, and is not shown again.</p>
          <CodeBlock label="link" code={link.value} />
          <footer>
            <Button tone="primary" onClick={() => void closeDialog(place)}>
              Done
            </Button>
          </footer>
        </div>
      )}
    </Dialog>
  )
}

function Remove({ place, person: { uid = '', name = '', roleBindings = 0, local } }: PersonProps) {
  const { run, isRunning, error } = useWrite(api.people.removePerson, {
    ...{ done: 'Person removed', also: ['roleBindings', 'identities'] },
    after: () => closeDialog(place),
  })
  return (
    <ConfirmDelete
      {...{ place, name }}
      verb="Remove"
      kind="person"
      mustTypeName
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={() => void run({ uid })}
    >
      <p>
        The account is deleted
        {roleBindings > 0 &&
          `, with ${roleBindings === 1 ? 'one role' : `${roleBindings} roles`} in organizations`}
        .
        {!local &&
          ' The person can come back through their identity provider, without roles; disable them to keep them out.'}
      </p>
    </ConfirmDelete>
  )
}
