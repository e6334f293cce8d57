// All people of the server, for its operators.
import type { PersonJson } from '@stemma/api/json/platform/server/v2beta1/person'
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import { person as signedIn } from '../../api/session.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { commandOf, pathOf } from '../../ui/commands.ts'
import { dialogPath } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter, SearchFilter } from '../../ui/filter.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { PersonDialogs } from './person-dialogs.tsx'

const filtersOf = ({ query }: Place) => ({
  search: query.get('search') ?? undefined,
  disabled: query.get('state') === 'disabled' || undefined,
  operators: query.get('state') === 'operators' || undefined,
})

const readPeople = (place: Place) => read(api.people.listPeople, { ...filtersOf(place), ...pageOf(place) })

export const load = (place: Place) => [readPeople(place)]

export default function People({ place }: PageProps) {
  const { people = [], nextPageToken, totalCount } = useData(readPeople(place))
  const isFiltered = place.query.has('search') || place.query.has('state')
  return (
    <>
      <PageHeader
        title="People"
        about="Everybody who has an account on this server, or has signed in through an identity provider."
      />
      <div class="filters">
        <SearchFilter place={place} name="search" label="Search by name or address" />
        <ChoiceFilter
          place={place}
          name="state"
          label="State"
          options={[
            { value: '', label: 'Everybody' },
            { value: 'disabled', label: 'Disabled' },
            { value: 'operators', label: 'Operators' },
          ]}
        />
      </div>
      {people.length === 0 ? (
        <Empty icon="search" title={isFiltered ? 'Nobody found' : 'Nobody yet'}>
          {isFiltered
            ? 'Change the search or the state to see others.'
            : 'People appear here when they sign in.'}
        </Empty>
      ) : (
        <section class="panel flush">
          <Table
            label="People"
            rows={people}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ name = '' }) => name}
            columns={[
              { title: 'Person', cell: (person) => <Named person={person} /> },
              { title: 'Signs in with', cell: signInText, isSecondary: true },
              {
                title: 'Roles',
                cell: ({ roleBindings = 0 }) => roleBindings,
                isNumber: true,
                isSecondary: true,
              },
              { title: 'Last seen', cell: ({ lastSeenTime }) => <Time at={lastSeenTime} /> },
              { title: 'Added', cell: ({ createTime }) => <Time at={createTime} />, isSecondary: true },
            ]}
            actions={(person) => actionsOf(place, person)}
          />
        </section>
      )}
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={people.length} />
      <PageCommands
        stemma={commandOf('stemma people list', filtersOf(place))}
        curl={{ path: pathOf('/server/v2beta1/people', filtersOf(place)) }}
      />
      <PersonDialogs place={place} people={people} />
    </>
  )
}

const Named = ({ person: { name, email, operator, disableTime, emailVerified } }: { person: PersonJson }) => (
  <div class="stacked">
    <span>
      <span dir="auto">{name}</span> {operator && <Badge tone="good">operator</Badge>}{' '}
      {disableTime && <Badge tone="bad">disabled</Badge>}
    </span>
    {email && (email !== name || !emailVerified) && (
      <span class="quiet small">
        {email !== name && email} {!emailVerified && 'not verified'}
      </span>
    )}
  </div>
)

function signInText({ local, hasPassword, passkeys = 0, authenticatorApp }: PersonJson): string {
  if (!local) return 'identity provider'
  return [
    hasPassword ? 'password' : 'no password yet',
    passkeys > 0 && `${passkeys} ${passkeys === 1 ? 'passkey' : 'passkeys'}`,
    authenticatorApp && 'authenticator app',
  ]
    .filter(Boolean)
    .join(', ')
}

function actionsOf(
  place: Place,
  { uid = '', local, disableTime, passkeys = 0, authenticatorApp }: PersonJson,
) {
  const own = uid === signedIn.value?.uid ? 'Your own account is under My account.' : undefined
  const item = (label: string, dialog: string, otherReason?: string) => ({
    ...{ label, to: dialogPath(place, dialog, uid), disabledReason: own ?? otherReason },
  })
  const noFactor = passkeys > 0 || authenticatorApp ? undefined : 'This person has no second factor.'
  return [
    disableTime ? item('Enable', 'enable') : item('Disable', 'disable'),
    item('Sign out everywhere', 'sign-out'),
    item('Reset password', 'reset-password', local ? undefined : 'This person has no password here.'),
    item('Reset second factors', 'reset-second-factors', noFactor),
    { ...item('Remove', 'remove'), isDanger: true },
  ]
}
