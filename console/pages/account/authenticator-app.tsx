// Codes of an app on the phone (TOTP), and the recovery codes for when the phone is lost.
import { useSignal } from '@preact/signals'
import type { AccountJson } from '@stemma/api/json/platform/iam/v2beta1/account'
import { useEffect } from 'preact/hooks'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { closeDialog, Dialog, dialogPath } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { QrCode } from '../../ui/qr-code.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'

type SectionProps = PageProps & { account: AccountJson; disabledReason: string | undefined }

export function AuthenticatorApp({ place, account, disabledReason }: SectionProps) {
  const remove = useWrite(api.account.removeAuthenticatorApp, { done: 'Authenticator app removed' })
  return (
    <section class="panel">
      <div class="panel-header">
        <h2>Authenticator app {account.authenticatorApp && <Badge tone="good">on</Badge>}</h2>
        <div class="actions">
          <ButtonLink to={dialogPath(place, 'recovery')} disabledReason={disabledReason}>
            New recovery codes
          </ButtonLink>
          {account.authenticatorApp ? (
            <Button isBusy={remove.isRunning.value} onClick={() => void remove.run({})}>
              Remove the app
            </Button>
          ) : (
            <ButtonLink to={dialogPath(place, 'app')} disabledReason={disabledReason}>
              Set up an app
            </ButtonLink>
          )}
        </div>
      </div>
      {remove.error.value !== undefined && <Problem error={remove.error.value} />}
      <p class="quiet">After the password, the sign-in asks for a code of the app, or for a recovery code.</p>
    </section>
  )
}

export function AddAuthenticatorApp({ place }: PageProps) {
  const begin = useWrite(api.account.beginAuthenticatorApp)
  const confirm = useWrite(api.account.confirmAuthenticatorApp, {
    done: 'Authenticator app set up',
    after: () => closeDialog(place),
  })
  const started = useSignal<{ secret: string; uri: string } | undefined>(undefined)
  useEffect(() => {
    void begin.run({}).then((response) => {
      if (response) started.value = { secret: response.secret ?? '', uri: response.uri ?? '' }
    })
  }, [])
  const send = async (values: FormData) => {
    await confirm.run({ code: String(values.get('code')).replaceAll(' ', '') })
  }
  return (
    <Dialog place={place} title="Set up an authenticator app">
      {begin.error.value !== undefined && <Problem error={begin.error.value} />}
      {!started.value && begin.error.value === undefined && <Skeleton />}
      {started.value && (
        <Form
          submit="Confirm"
          isRunning={confirm.isRunning.value}
          error={confirm.error.value}
          onSubmit={send}
          onCancel={() => void closeDialog(place)}
        >
          <p>Scan the code with the app. If it cannot scan, type the key, or open the link on the phone.</p>
          <QrCode text={started.value.uri} label="QR code for the app" />
          <CodeBlock label="key" code={started.value.secret} />
          <p>
            <a href={started.value.uri}>Open in the app</a>
          </p>
          <TextField
            label="Code of the app"
            name="code"
            required
            inputMode="numeric"
            autocomplete="one-time-code"
            pattern="[0-9 ]{6,7}"
            problem={violationOf(confirm.error.value, 'code')}
          />
        </Form>
      )}
    </Dialog>
  )
}
