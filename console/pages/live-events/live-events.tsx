// The events of a group as they happen.
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { api } from '../../api/api.ts'
import { useDenial } from '../../api/permissions.ts'
import { paths } from '../../paths.ts'
import type { PageProps } from '../../router/route.ts'
import { withQuery } from '../../router/router.ts'
import type { BadgeTone } from '../../ui/badge.tsx'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { Empty } from '../../ui/empty.tsx'
import { SearchFilter } from '../../ui/filter.tsx'
import { Problem } from '../../ui/form.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Time } from '../../ui/time.tsx'
import { followEvents } from './follow.ts'

type LiveEvent = { sequence: string; type: string; subject: string; time: string; json: string }

/** `disconnected`: the server has refused, and no other attempt is made. */
type State = 'connecting' | 'connected' | 'connecting again' | 'disconnected'

const tones: Record<State, BadgeTone> = {
  connecting: 'warning',
  connected: 'good',
  'connecting again': 'warning',
  disconnected: 'bad',
}

/** The page keeps the newest events only. */
const mostShown = 200

/** The key empties the list when another group is chosen. */
export default function LiveEventsPage({ place }: PageProps) {
  return <LiveEvents key={place.group} place={place} />
}

function LiveEvents({ place }: PageProps) {
  const { group } = place
  const denied = useDenial(group)('subscriptions.create')
  const isPaused = place.query.has('paused')
  const wanted = (place.query.get('type') ?? '').toLowerCase()
  const events = useSignal<readonly LiveEvent[]>([])
  const state = useSignal<State>('connecting')
  const error = useSignal<unknown>(undefined)
  // After a reload during a pause, the events since its beginning are still to be shown.
  const last = useRef(isPaused ? storedSequence() : undefined)

  useEffect(() => {
    if (isPaused && last.current !== undefined) storeSequence(last.current)
    if (denied !== undefined || isPaused) return
    const canceller = new AbortController()
    state.value = 'connecting'
    error.value = undefined
    const listener = {
      onSequence(sequence: string) {
        last.current = sequence
      },
      onEvent(event: Record<string, unknown>, sequence: string) {
        events.value = [eventOf(event, sequence), ...events.value].slice(0, mostShown)
      },
      onState(problem: unknown) {
        error.value = problem
        state.value = problem === undefined ? 'connected' : 'connecting again'
      },
    }
    const followed = followEvents(
      api.events.tailEvents,
      { group, after: last.current },
      listener,
      canceller.signal,
    )
    void followed.then(() => {
      if (!canceller.signal.aborted) state.value = 'disconnected'
    })
    return () => canceller.abort()
  }, [group, isPaused, denied])

  const shown = events.value.filter(({ type, subject }) =>
    `${type} ${subject}`.toLowerCase().includes(wanted),
  )
  return (
    <>
      <PageHeader
        title="Live events"
        about="The events of this group and of everything below it, as subscriptions deliver them. Events that happen during a pause are shown after it."
        actions={
          <>
            <ButtonLink to={paths.events(group)}>Subscriptions</ButtonLink>
            <ButtonLink
              to={withQuery(place, { paused: isPaused ? undefined : 'yes' })}
              tone="primary"
              disabledReason={denied}
            >
              {isPaused ? 'Continue' : 'Pause'}
            </ButtonLink>
          </>
        }
      />
      <div class="filters">
        <SearchFilter place={place} name="type" label="Type or subject contains" />
        <span role="status">
          {isPaused ? (
            <Badge>paused</Badge>
          ) : (
            denied === undefined && <Badge tone={tones[state.value]}>{state.value}</Badge>
          )}
        </span>
      </div>
      {denied !== undefined && <p class="quiet">{denied}</p>}
      {error.value !== undefined && <Problem error={error.value} />}
      {shown.length === 0 ? (
        <Empty icon="event" title={events.value.length > 0 ? 'No event matches' : 'No events yet'}>
          Events appear here when something changes. Earlier changes are on the page Activity.
        </Empty>
      ) : (
        <section class="panel flush">
          <ol class="entries" aria-label="Events, the newest first">
            {shown.map(({ sequence, type, subject, time, json }) => (
              <li key={sequence}>
                <details>
                  <summary>
                    <span class="entry-text">
                      <strong>{type}</strong> <span class="quiet small">{subject}</span>
                    </span>
                    <Time at={time} />
                  </summary>
                  <pre tabIndex={0} aria-label={`Event ${sequence}`}>
                    {json}
                  </pre>
                </details>
              </li>
            ))}
          </ol>
        </section>
      )}
      <PageCommands
        stemma={`stemma events tail ${group}`}
        curl={{ path: `/events/v2beta1/events:tail?group=${group}&follow=true` }}
      />
    </>
  )
}

/** In the history entry, which a reload keeps. */
const storeSequence = (lastEvent: string) => history.replaceState({ ...history.state, lastEvent }, '')
const storedSequence = () => (history.state as { lastEvent?: string } | null)?.lastEvent

function eventOf(event: Record<string, unknown>, sequence: string): LiveEvent {
  const text = (name: string) => (typeof event[name] === 'string' ? event[name] : '')
  return {
    ...{ sequence, type: text('type'), subject: text('subject'), time: text('time') },
    json: JSON.stringify(event, undefined, 2),
  }
}
