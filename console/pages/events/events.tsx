// The subscriptions of a group: where its events are sent.
import type { SubscriptionJson } from '@stemma/api/json/platform/events/v2beta1/subscription'
import { api } from '../../api/api.ts'
import { useDenial, useDenialIn } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { parentOf } from '../../api/uids.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { CreateSubscription } from './subscription-form.tsx'

const readSubscriptions = (place: Place) =>
  read(api.subscriptions.listSubscriptions, { uidp: { descendantsOf: place.group }, ...pageOf(place) })

export const load = (place: Place) => [readSubscriptions(place)]

export default function Events({ place }: PageProps) {
  const { subscriptions = [], nextPageToken, totalCount } = useData(readSubscriptions(place))
  const denial = useDenial(place.group)
  const denialIn = useDenialIn(
    place.group,
    subscriptions.map(({ uid = '' }) => parentOf(uid)),
    ['subscriptions.delete'],
  )
  const about = subscriptions.find(({ uid }) => uid === place.query.get('about'))
  return (
    <>
      <PageHeader
        title="Events"
        about="A subscription sends the events of its group, and of everything below it, to a URL as signed CloudEvents."
        actions={
          <>
            <ButtonLink to={paths.liveEvents(place.group)}>Live events</ButtonLink>
            <ButtonLink
              to={dialogPath(place, 'create')}
              tone="primary"
              icon="plus"
              disabledReason={denial('subscriptions.create')}
            >
              New subscription
            </ButtonLink>
          </>
        }
      />
      {subscriptions.length === 0 ? (
        <Empty icon="event" title="No subscriptions">
          Let another program know when something changes: who got access, what was pushed, who signed in.
        </Empty>
      ) : (
        <section class="panel flush">
          <Table
            label="Subscriptions"
            rows={subscriptions}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ sink = '' }) => sink}
            columns={[
              {
                title: 'Sink',
                cell: ({ uid = '', sink }) => <Link to={paths.subscription(place.group, uid)}>{sink}</Link>,
              },
              { title: 'State', cell: (subscription) => <State subscription={subscription} /> },
              {
                title: 'Events',
                cell: ({ eventTypes = [] }) => (eventTypes.length === 0 ? 'all' : eventTypes.join(', ')),
                isSecondary: true,
              },
              { title: 'Description', cell: ({ description }) => description, isSecondary: true },
            ]}
            actions={({ uid = '' }) => [
              {
                label: 'Delete',
                to: dialogPath(place, 'delete', uid),
                disabledReason: denialIn(parentOf(uid), 'subscriptions.delete'),
                isDanger: true,
              },
            ]}
          />
        </section>
      )}
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={subscriptions.length} />
      <PageCommands
        stemma={`stemma subscriptions list --descendants-of ${place.group}`}
        curl={{ path: `/events/v2beta1/subscriptions?uidp.descendants_of=${place.group}` }}
      />
      {isDialogOpen(place, 'create') && <CreateSubscription place={place} />}
      {isDialogOpen(place, 'delete') && <DeleteSubscription place={place} sink={about?.sink ?? ''} />}
    </>
  )
}

export function State({ subscription: { state, stateReason } }: { subscription: SubscriptionJson }) {
  if (state === 'SUBSCRIPTION_STATE_ACTIVE') return <Badge tone="good">active</Badge>
  if (state === 'SUBSCRIPTION_STATE_PAUSED') return <Badge>paused</Badge>
  return (
    <span title={stateReason}>
      <Badge tone="bad">disabled</Badge>
    </span>
  )
}

function DeleteSubscription({ place, sink }: PageProps & { sink: string }) {
  const { run, isRunning, error } = useWrite(api.subscriptions.deleteSubscription, {
    done: 'Subscription deleted',
    after: () => closeDialog(place),
  })
  const remove = async () => {
    await run({ uid: place.query.get('about') ?? '' })
  }
  return (
    <ConfirmDelete
      place={place}
      kind="subscription"
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={remove}
    >
      <p class="wrap">The subscription stops sending events to {sink}, and its deliveries are deleted.</p>
    </ConfirmDelete>
  )
}
