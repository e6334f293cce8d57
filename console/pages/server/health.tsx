// Version and health of the server, for its operators.
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import { Badge } from '../../ui/badge.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Properties } from '../../ui/properties.tsx'
import { Time } from '../../ui/time.tsx'
import { sizeText } from '../repos/size.ts'

const readHealth = () => read(api.server.getHealth, {})

export const load = () => [readHealth()]

const storeNames: Record<string, string> = { sqlite: 'SQLite (embedded)', postgres: 'PostgreSQL' }
const contentNames: Record<string, string> = { files: 'files in the data folder', s3: 'S3' }
const count = (value: string | undefined) => Number(value ?? 0).toLocaleString('en')

export default function Health() {
  const health = useData(readHealth())
  const { warnings = [], store = '', contentStorage = '', diskFreeBytes } = health
  return (
    <>
      <PageHeader
        title="Health"
        about={
          warnings.length === 0 ? (
            <>
              <Badge tone="good">in order</Badge> Nothing needs attention.
            </>
          ) : (
            <Badge tone="warning">
              {warnings.length === 1 ? '1 warning' : `${warnings.length} warnings`}
            </Badge>
          )
        }
      />
      {warnings.length > 0 && (
        <ul class="problem">
          {warnings.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      <section class="panel">
        <h2>Server</h2>
        <Properties
          rows={[
            ['Version', `Stemma ${health.version}`],
            ['Runs on', `Node.js ${health.nodeVersion?.replace(/^v/, '')}`],
            ['Started', <Time key="started" at={health.startTime} />],
            ['Workers', String(health.workers ?? 1)],
          ]}
        />
      </section>
      <section class="panel">
        <h2>Storage</h2>
        <Properties
          rows={[
            ['Database', `${storeNames[store] ?? store}, ${sizeText(health.storeBytes)}`],
            ['Latest migration', health.lastMigration],
            [
              'Content of repos',
              `${sizeText(health.contentBytes)}, ${contentNames[contentStorage] ?? contentStorage}`,
            ],
            ['Free space', diskFreeBytes !== undefined && sizeText(diskFreeBytes)],
          ]}
        />
      </section>
      <section class="panel">
        <h2>Events</h2>
        <Properties
          rows={[
            ['Waiting for the audit log', count(health.unsealedEvents)],
            ['Waiting for subscriptions', count(health.waitingEvents)],
            ['Waiting deliveries', count(health.pendingDeliveries)],
          ]}
        />
      </section>
      <PageCommands stemma="stemma server health" curl={{ path: '/server/v2beta1/health' }} />
    </>
  )
}
