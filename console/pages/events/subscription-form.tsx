// The form of a subscription. Its secret is shown once, after it is created.
import { useSignal } from '@preact/signals'
import type { SubscriptionJson } from '@stemma/api/json/platform/events/v2beta1/subscription'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Select, TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Secret } from './secret.tsx'

export function CreateSubscription({ place }: PageProps) {
  const secret = useSignal('')
  const { run, isRunning, error } = useWrite(api.subscriptions.createSubscription, {
    done: 'Subscription created',
  })
  const create = async (values: FormData) => {
    const created = await run({ parent: place.group, subscription: subscriptionOf(values) })
    if (created) secret.value = created.secret ?? ''
  }
  return (
    <Dialog place={place} title="New subscription">
      {secret.value ? (
        <Secret place={place} secret={secret.value} />
      ) : (
        <SubscriptionForm
          submit="Create subscription"
          place={place}
          isRunning={isRunning.value}
          error={error.value}
          onSubmit={create}
        />
      )}
    </Dialog>
  )
}

export function EditSubscription({ place, subscription }: PageProps & { subscription: SubscriptionJson }) {
  const { run, isRunning, error } = useWrite(api.subscriptions.updateSubscription, {
    done: 'Subscription changed',
    after: () => closeDialog(place),
  })
  const change = async (values: FormData) => {
    const changed = { uid: subscription.uid ?? '', ...subscriptionOf(values) }
    const mask = updateMask<SubscriptionJson>(subscription, changed, [
      ...(['sink', 'description', 'eventTypes', 'contentMode', 'state'] as const),
    ])
    await run({ subscription: changed, updateMask: mask })
  }
  return (
    <Dialog place={place} title="Change subscription">
      <SubscriptionForm
        submit="Save"
        place={place}
        subscription={subscription}
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={change}
      />
    </Dialog>
  )
}

function subscriptionOf(values: FormData) {
  const text = (name: string) => String(values.get(name) ?? '').trim()
  return {
    ...{ sink: text('sink'), description: text('description') },
    eventTypes: text('types')
      .split(/[\s,]+/)
      .filter((type) => type !== ''),
    contentMode: text('mode') as NonNullable<SubscriptionJson['contentMode']>, // an option of the form
    state: text('state') as NonNullable<SubscriptionJson['state']>,
  }
}

const disabled = 'SUBSCRIPTION_STATE_DISABLED'

type SubscriptionFormProps = PageProps & {
  submit: string
  subscription?: SubscriptionJson
  isRunning: boolean
  error: unknown
  onSubmit(values: FormData): void
}

const SubscriptionForm = ({
  place,
  submit,
  subscription,
  isRunning,
  error,
  onSubmit,
}: SubscriptionFormProps) => (
  <Form
    submit={submit}
    isRunning={isRunning}
    error={error}
    onSubmit={onSubmit}
    onCancel={() => void closeDialog(place)}
  >
    <TextField
      label="Sink"
      name="sink"
      type="url"
      required
      placeholder="https://receiver.example.com/events"
      defaultValue={subscription?.sink}
      hint="Gets a POST request for each event."
      problem={violationOf(error, 'sink')}
    />
    <TextField
      label="Description"
      name="description"
      defaultValue={subscription?.description}
      problem={violationOf(error, 'description')}
    />
    <TextArea
      label="Event types"
      name="types"
      defaultValue={subscription?.eventTypes?.join('\n')}
      hint="One on each line. A type that ends with a dot stands for all that begin with it. Empty: all events."
      problem={violationOf(error, 'event_types')}
    />
    <Select
      label="Content mode"
      name="mode"
      defaultValue={subscription?.contentMode}
      options={[
        { value: 'CONTENT_MODE_BINARY', label: 'Binary: attributes are headers' },
        { value: 'CONTENT_MODE_STRUCTURED', label: 'Structured: attributes are in the body' },
      ]}
    />
    <Select
      label="State"
      name="state"
      defaultValue={subscription?.state}
      options={[
        { value: 'SUBSCRIPTION_STATE_ACTIVE', label: 'Active' },
        { value: 'SUBSCRIPTION_STATE_PAUSED', label: 'Paused' },
        // Only the server disables a subscription. Without this option, saving another change would activate it.
        ...(subscription?.state === disabled ? [{ value: disabled, label: 'Disabled' }] : []),
      ]}
    />
  </Form>
)
