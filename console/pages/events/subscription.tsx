// One subscription with its deliveries: what was sent, what the sink answered, and how to send it again.
import { useSignal } from '@preact/signals'
import type { DeliveryJson } from '@stemma/api/json/platform/events/v2beta1/delivery'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { readPermissions, useDenial } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { useReload } from '../../api/reload.ts'
import { parentOf } from '../../api/uids.ts'
import { useWrite } from '../../api/write.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { commandOf, enumWord, pathOf } from '../../ui/commands.ts'
import { Uid } from '../../ui/copy.tsx'
import { closeDialog, Dialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Select, TimeField } from '../../ui/field.tsx'
import { ChoiceFilter } from '../../ui/filter.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Properties } from '../../ui/properties.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { Delivery, DeliveryState } from './delivery.tsx'
import { State } from './events.tsx'
import { Secret } from './secret.tsx'
import { EditSubscription } from './subscription-form.tsx'

const uidIn = ({ uids }: Place) => uids.subscription ?? ''
const readSubscription = (place: Place) => read(api.subscriptions.getSubscription, { uid: uidIn(place) })
/** One of the options of the filter. */
const stateIn = ({ query }: Place) => (query.get('state') || undefined) as DeliveryJson['state']
const readDeliveries = (place: Place) =>
  read(api.deliveries.listDeliveries, {
    subscription: uidIn(place),
    state: stateIn(place),
    ...pageOf(place),
  })

/** The group of the subscription, which may be below the opened one. */
const groupIn = (place: Place) => parentOf(uidIn(place))

export const load = (place: Place) => [
  ...[readSubscription(place), readDeliveries(place), readPermissions(groupIn(place))],
]

export default function Subscription({ place }: PageProps) {
  const subscription = useData(readSubscription(place))
  const { deliveries = [], nextPageToken, totalCount } = useData(readDeliveries(place))
  const denial = useDenial(groupIn(place))
  const test = useWrite(api.subscriptions.testSubscription, { done: 'Test event sent', also: ['deliveries'] })
  const again = useWrite(api.deliveries.redeliverEvent, { done: 'Sent again' })
  const [uid, state] = [uidIn(place), stateIn(place)]
  useReload('deliveries', deliveries.some(isPending))
  const updateDenial = denial('subscriptions.update')
  return (
    <>
      <PageHeader
        title="Subscription"
        about={subscription.description || subscription.sink}
        actions={
          <>
            <Button
              disabledReason={updateDenial}
              isBusy={test.isRunning.value}
              onClick={() => void test.run({ uid })}
            >
              Send a test event
            </Button>
            <ButtonLink to={dialogPath(place, 'replay')} disabledReason={updateDenial}>
              Replay
            </ButtonLink>
            <ButtonLink to={dialogPath(place, 'rotate')} disabledReason={updateDenial}>
              Rotate secret
            </ButtonLink>
            <ButtonLink to={dialogPath(place, 'edit')} disabledReason={updateDenial}>
              Change
            </ButtonLink>
          </>
        }
      />
      {test.error.value !== undefined && <Problem error={test.error.value} />}
      {again.error.value !== undefined && <Problem error={again.error.value} />}
      <section class="panel">
        <h2>Properties</h2>
        <Properties
          rows={[
            ['Uid', <Uid key="uid" uid={uid} />],
            ['Sink', subscription.sink],
            ['State', <State key="state" subscription={subscription} />],
            ['Reason', subscription.stateReason],
            ['Events', subscription.eventTypes?.length ? subscription.eventTypes.join(', ') : 'all'],
            ['Created', <Time key="created" at={subscription.createTime} />],
          ]}
        />
      </section>
      <section class="panel flush">
        <div class="panel-header inset">
          <h2>Deliveries</h2>
          <ChoiceFilter place={place} name="state" label="State" options={states} />
        </div>
        {deliveries.length === 0 ? (
          <Empty icon="event" title="No deliveries">
            Events of this group appear here when they are sent.
          </Empty>
        ) : (
          <Table
            label="Deliveries"
            rows={deliveries}
            uidOf={(delivery) => delivery.uid ?? ''}
            nameOf={({ eventType = '' }) => eventType}
            columns={[
              {
                title: 'Event',
                cell: (delivery) => (
                  <Link to={dialogPath(place, 'delivery', delivery.uid)}>{delivery.eventType}</Link>
                ),
              },
              { title: 'State', cell: ({ state }) => <DeliveryState state={state} /> },
              {
                title: 'Attempts',
                cell: ({ attempts = [] }) => attempts.length,
                isNumber: true,
                isSecondary: true,
              },
              { title: 'Time', cell: ({ createTime }) => <Time at={createTime} /> },
            ]}
            actions={(delivery) => [
              {
                label: 'Send again',
                onSelect: () => void again.run({ uid: delivery.uid ?? '' }),
                disabledReason: updateDenial,
              },
            ]}
          />
        )}
      </section>
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={deliveries.length} />
      <PageCommands
        stemma={commandOf('stemma deliveries list', {
          ...{ subscription: uid, state: enumWord('DELIVERY_STATE_', state) },
        })}
        curl={{ path: pathOf('/events/v2beta1/deliveries', { subscription: uid, state }) }}
      />
      {isDialogOpen(place, 'edit') && <EditSubscription place={place} subscription={subscription} />}
      {isDialogOpen(place, 'rotate') && <RotateSecret place={place} />}
      {isDialogOpen(place, 'replay') && <Replay place={place} />}
      {isDialogOpen(place, 'delivery') && <Delivery place={place} sink={subscription.sink ?? ''} />}
    </>
  )
}

const isPending = ({ state }: DeliveryJson) => state === 'DELIVERY_STATE_PENDING'

const states = [
  { value: '', label: 'every state' },
  { value: 'DELIVERY_STATE_PENDING', label: 'pending' },
  { value: 'DELIVERY_STATE_DELIVERED', label: 'delivered' },
  { value: 'DELIVERY_STATE_FAILED', label: 'failed' },
]

function RotateSecret({ place }: PageProps) {
  const secret = useSignal('')
  const { run, isRunning, error } = useWrite(api.subscriptions.rotateSubscriptionSecret, {
    done: 'Secret rotated',
  })
  const rotate = async (values: FormData) => {
    const response = await run({ uid: uidIn(place), overlap: String(values.get('overlap')) })
    if (response) secret.value = response.secret ?? ''
  }
  return (
    <Dialog place={place} title="Rotate secret">
      {secret.value ? (
        <Secret place={place} secret={secret.value} />
      ) : (
        <Form
          submit="Rotate secret"
          isRunning={isRunning.value}
          error={error.value}
          onSubmit={rotate}
          onCancel={() => void closeDialog(place)}
        >
          <Select
            label="Also sign with the old secret for"
            name="overlap"
            options={[
              { value: '86400s', label: 'a day' },
              { value: '3600s', label: 'an hour' },
              { value: '0s', label: 'no time: it stops working now' },
            ]}
            problem={violationOf(error.value, 'overlap')}
          />
        </Form>
      )}
    </Dialog>
  )
}

function Replay({ place }: PageProps) {
  const { run, isRunning, error } = useWrite(api.subscriptions.replaySubscription, {
    ...{ done: 'The replay has begun', also: ['deliveries'], after: () => closeDialog(place) },
  })
  const replay = async (values: FormData) => {
    const since = new Date(String(values.get('since'))).toISOString()
    await run({ uid: uidIn(place), since })
  }
  return (
    <Dialog place={place} title="Replay events">
      <Form
        submit="Replay"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={replay}
        onCancel={() => void closeDialog(place)}
      >
        <TimeField
          label="Since"
          name="since"
          required
          hint="Sends all events since this time again, after the events that are still pending."
          problem={violationOf(error.value, 'since')}
        />
      </Form>
    </Dialog>
  )
}
