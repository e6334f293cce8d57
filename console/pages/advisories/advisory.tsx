// One advisory: the vulnerability, the timeline of its events, other packages with the same vulnerability, and its documents.
import type { UnaryCall } from '@stemma/api/json'
import type { VulnerabilityMetadataJson } from '@stemma/api/json/platform/advisory/v2beta1/security_advisory'
import type { AdvisoryJson } from '@stemma/api/json/platform/vulnerabilities/v2beta1/advisory'
import { api } from '../../api/api.ts'
import { errorText } from '../../api/error-text.ts'
import { read, useData, useRead } from '../../api/read.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { Uid } from '../../ui/copy.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Properties } from '../../ui/properties.tsx'
import { safeUrl } from '../../ui/safe-url.ts'
import { saveFile } from '../../ui/save-file.ts'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.ts'
import { eventNote, eventTitle, eventTone } from './event-title.ts'
import { StatusBadge } from './status-badge.tsx'

const readAdvisory = ({ uids }: Place) => read(api.advisories.getAdvisory, { uid: uids.advisory ?? '' })

export const load = (place: Place) => [readAdvisory(place)]

export default function Advisory({ place }: PageProps) {
  const advisory = useData(readAdvisory(place))
  const { uid = '', advisoryId = '', aliases = [], events = [] } = advisory
  const save = (call: UnaryCall<{ uid?: string }, unknown>, end: string) => () =>
    void download(call, uid, `${advisoryId}.${end}.json`)
  return (
    <>
      <PageHeader
        title={advisoryId}
        about={
          <>
            <StatusBadge events={events} /> {aliases.join(', ')} in {advisory.artifactName}
          </>
        }
        actions={
          <>
            <Button onClick={save(api.advisories.getAdvisoryOsv, 'osv')}>Download OSV</Button>
            <Button onClick={save(api.advisories.getAdvisoryOpenVex, 'openvex')}>Download OpenVEX</Button>
          </>
        }
      />
      <Vulnerabilities aliases={aliases} />
      <section class="panel">
        <h2>Timeline</h2>
        <Timeline events={events} />
      </section>
      <section class="panel">
        <h2>Properties</h2>
        <Properties
          rows={[
            ['Uid', <Uid key="uid" uid={uid} />],
            ['Package', [advisory.artifactName, advisory.artifactType].filter(Boolean).join(' · ')],
            ['Architecture', advisory.artifactArchitecture],
            ['Component', [advisory.componentName, advisory.componentType].filter(Boolean).join(' · ')],
            ['Location', advisory.componentLocation],
            ['Author', advisory.author],
            ['Created', <Time key="created" at={advisory.createTime} />],
            ['Changed', <Time key="changed" at={advisory.updateTime} />],
          ]}
        />
      </section>
      {aliases.length > 0 && <OtherPackages place={place} advisory={advisory} />}
      <PageCommands
        stemma={`stemma advisories get ${uid}`}
        curl={{ path: `/vulnerabilities/v2beta1/advisories/${uid}` }}
      />
    </>
  )
}

/** The latest event first. */
const Timeline = ({ events }: { events: NonNullable<AdvisoryJson['events']> }) => (
  <ol class="timeline">
    {events.toReversed().map((event) => (
      <li key={event.uid}>
        <p>
          <Badge tone={eventTone(event)}>{eventTitle(event)}</Badge> <Time at={event.createTime} />{' '}
          <span class="quiet">
            {event.author && `by ${event.author}`}
            {event.reviewState !== 'REVIEW_STATE_APPROVED' &&
              ` · ${reviewTexts[event.reviewState ?? ''] ?? 'not reviewed'}`}
          </span>
        </p>
        {eventNote(event) && (
          <p class="wrap" dir="auto">
            {eventNote(event)}
          </p>
        )}
      </li>
    ))}
  </ol>
)

const reviewTexts: Record<string, string> = {
  REVIEW_STATE_PENDING: 'waits for a review',
  REVIEW_STATE_REQUEST_CHANGES: 'changes are requested',
  REVIEW_STATE_REJECTED: 'rejected',
}

/** An advisory has at most this many aliases, and a page at most this many vulnerabilities. */
const maxAliases = 200

/** Facts about the vulnerability itself. Nothing is drawn if only its name is known. */
function Vulnerabilities({ aliases }: { aliases: readonly string[] }) {
  const { data } = useRead(
    read(api.securityAdvisory.listVulnerabilityMetadata, { ids: [...aliases], pageSize: maxAliases }),
    aliases.length > 0,
  )
  return (
    <>
      {data?.vulnerabilityMetadata?.map((each) => (
        <Vulnerability key={each.id} {...each} />
      ))}
    </>
  )
}

const maxLinks = 20

function Vulnerability({
  id,
  summary,
  details,
  severities = [],
  references = [],
}: VulnerabilityMetadataJson) {
  if (!summary && !details && severities.length === 0 && references.length === 0) return null
  const links = references
    .map(({ url = '', type }) => ({ url: safeUrl(url), type }))
    .filter((link) => link.url !== undefined)
  return (
    <section class="panel">
      <h2>
        {id}
        {summary && `: ${summary}`}
      </h2>
      {details && (
        <p class="readme" dir="auto">
          {details}
        </p>
      )}
      <Properties
        rows={[
          ['Severity', severities.map(({ score }) => score).join(', ')],
          [
            'Read more',
            links.length > 0 && (
              <ul>
                {links.slice(0, maxLinks).map(({ url, type }) => (
                  <li key={url}>
                    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
                      {url}
                    </a>{' '}
                    <span class="quiet">{kindOfLink(type)}</span>
                  </li>
                ))}
              </ul>
            ),
          ],
        ]}
      />
    </section>
  )
}

/** Converts `TYPE_FIX` to `fix`. */
const kindOfLink = (type = '') => type.replace('TYPE_', '').replace('UNSPECIFIED', '').toLowerCase()

/** A vulnerability of a library often concerns many packages. */
function OtherPackages({ place, advisory }: PageProps & { advisory: AdvisoryJson }) {
  const { advisoryId, aliases = [] } = advisory
  const { data } = useRead(read(api.securityAdvisory.listDocuments, { cves: aliases }))
  const rows = (data?.documents ?? []).flatMap(({ id: name = '', advisories = [] }) =>
    advisories.filter(({ id }) => id !== advisoryId).map((each) => ({ ...each, name })),
  )
  if (rows.length === 0) return null
  return (
    <section class="panel flush">
      <h2>Other packages with this vulnerability</h2>
      <Table
        label="Other packages with this vulnerability"
        rows={rows.slice(0, maxPackages)}
        uidOf={({ id, name }) => `${name} ${id}`}
        nameOf={({ name }) => name}
        hasUids={false}
        columns={[
          { title: 'Package', cell: ({ name }) => name },
          { title: 'Advisory', cell: ({ id }) => id },
          {
            title: 'Status',
            cell: ({ events = [] }) => (
              <Badge tone={eventTone(events.at(-1))}>{eventTitle(events.at(-1))}</Badge>
            ),
          },
        ]}
      />
      <p class="inset quiet small">
        <Link to={`${paths.advisories(place.group)}?search=${encodeURIComponent(aliases[0] ?? '')}`}>
          Advisories with {aliases[0]}
        </Link>
      </p>
    </section>
  )
}

const maxPackages = 50

async function download(
  call: UnaryCall<{ uid?: string }, unknown>,
  uid: string,
  name: string,
): Promise<void> {
  try {
    saveFile(name, `${JSON.stringify(await call({ uid }), undefined, 2)}\n`, 'application/json')
  } catch (error) {
    toast(errorText(error).text, 'error')
  }
}
