// One delivery: the event that was sent, and the answers of the sink.
import type { DeliveryJson } from '@stemma/api/json/platform/events/v2beta1/delivery'
import { useQuery } from '@tanstack/preact-query'
import { api } from '../../api/api.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useRead } from '../../api/read.ts'
import { parentOf } from '../../api/uids.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Problem } from '../../ui/form.tsx'
import { Properties } from '../../ui/properties.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Time } from '../../ui/time.tsx'

/** Shows the delivery in the query parameter `about`. `sink` is where it was sent. */
export function Delivery({ place, sink }: PageProps & { sink: string }) {
  const uid = place.query.get('about') ?? ''
  const { data: delivery, error } = useRead(read(api.deliveries.getDelivery, { uid }))
  const denial = useDenial(parentOf(place.uids.subscription ?? ''))
  const again = useWrite(api.deliveries.redeliverEvent, { done: 'Sent again' })
  return (
    <Dialog place={place} title={delivery?.eventType ?? 'Delivery'} isWide>
      {error && <Problem error={error} />}
      {!delivery && !error && <Skeleton />}
      {delivery && (
        <>
          <Properties
            rows={[
              ['State', <DeliveryState key="state" state={delivery.state} />],
              ['Event', delivery.eventId],
              ['Subject', delivery.eventSubject],
              ['Next attempt', delivery.nextAttemptTime && <Time at={delivery.nextAttemptTime} />],
            ]}
          />
          <Sent delivery={delivery} sink={sink} denied={denial('subscriptions.create')} />
          <h3>Answers</h3>
          {(delivery.attempts ?? []).length === 0 && <p class="quiet">There has been no attempt yet.</p>}
          {(delivery.attempts ?? []).toReversed().map((attempt) => (
            <Attempt key={attempt.time} attempt={attempt} />
          ))}
          {again.error.value !== undefined && <Problem error={again.error.value} />}
          <footer class="actions end">
            <Button
              disabledReason={denial('subscriptions.update')}
              isBusy={again.isRunning.value}
              onClick={() => void again.run({ uid })}
            >
              Send again
            </Button>
          </footer>
        </>
      )}
    </Dialog>
  )
}

export function DeliveryState({ state }: { state: DeliveryJson['state'] | undefined }) {
  if (state === 'DELIVERY_STATE_DELIVERED') return <Badge tone="good">delivered</Badge>
  if (state === 'DELIVERY_STATE_FAILED') return <Badge tone="bad">failed</Badge>
  return <Badge tone="warning">pending</Badge>
}

type Attempts = NonNullable<DeliveryJson['attempts']>

const Attempt = ({
  attempt: { time, statusCode = 0, latency, response, error },
}: {
  attempt: Attempts[number]
}) => (
  <section class="attempt">
    <p>
      <Badge tone={error || statusCode >= 300 ? 'bad' : 'good'}>{error || statusCode}</Badge>{' '}
      <Time at={time} />
      {latency && <span class="quiet"> in {latency}</span>}
    </p>
    {response && (
      <pre tabIndex={0} aria-label="Answer of the sink">
        {response}
      </pre>
    )}
  </section>
)

type SentProps = { delivery: DeliveryJson; sink: string; denied: string | undefined }

/**
 * The event is read from the event log of the subscription's group. A test event is not in the log,
 * and events are deleted from it when their retention time has passed.
 */
function Sent({ delivery, sink, denied }: SentProps) {
  const { uid = '', sequence = '0', requestHeaders = {} } = delivery
  const headers = Object.entries(requestHeaders).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const group = uid.split('/').slice(0, -2).join('/')
  const {
    data: event,
    error,
    isPending,
  } = useQuery({
    queryKey: ['events', group, sequence],
    queryFn: ({ signal }) => readEvent(group, sequence, signal),
    enabled: sequence !== '0' && denied === undefined,
  })
  return (
    <>
      <h3>Request</h3>
      <p class="wrap">
        <code>POST {sink}</code>
      </p>
      {headers.length > 0 && (
        <details>
          <summary>Headers</summary>
          <CodeBlock label="headers" code={headers.map(([name, value]) => `${name}: ${value}`).join('\n')} />
        </details>
      )}
      {sequence === '0' && <p class="quiet">A test event: it says only that it is a test.</p>}
      {sequence !== '0' && denied !== undefined && <p class="quiet">{denied}</p>}
      {sequence !== '0' && denied === undefined && isPending && <Skeleton />}
      {error && <Problem error={error} />}
      {event && <CodeBlock label="event" code={JSON.stringify(event, undefined, 2)} />}
      {event === null && <p class="quiet">The event is no longer kept.</p>}
    </>
  )
}

async function readEvent(group: string, sequence: string, signal: AbortSignal) {
  const afterSequence = String(BigInt(sequence) - 1n)
  for await (const found of api.events.tailEvents({ group, afterSequence }, { signal }))
    return found.sequence === sequence ? (found.event ?? null) : null
  return null
}
