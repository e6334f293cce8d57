// One advisory with the timeline of its events, and its documents.
import type { UnaryCall } from '@stemma/api/json'
import { api } from '../../api/api.ts'
import { errorText } from '../../api/error-text.ts'
import { read, useData } from '../../api/read.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { SameWith } from '../../ui/code-block.tsx'
import { Uid } from '../../ui/copy.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Properties } from '../../ui/properties.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.ts'
import { eventNote, eventTitle } from './event-title.ts'

const readAdvisory = ({ uids }: Place) => read(api.advisories.getAdvisory, { uid: uids.advisory ?? '' })

export const load = (place: Place) => [readAdvisory(place)]

export default function Advisory({ place }: PageProps) {
  const advisory = useData(readAdvisory(place))
  const { uid = '', advisoryId = '', aliases = [], events = [] } = advisory
  return (
    <>
      <PageHeader
        title={advisoryId}
        about={aliases.join(', ')}
        actions={
          <>
            <Button
              onClick={() => void download(api.advisories.getAdvisoryOsv, uid, `${advisoryId}.osv.json`)}
            >
              Download OSV
            </Button>
            <Button
              onClick={() => void download(api.advisories.getAdvisoryOpenVex, uid, `${advisoryId}.vex.json`)}
            >
              Download VEX
            </Button>
          </>
        }
      />
      <section class="panel">
        <h2>Properties</h2>
        <Properties
          rows={[
            ['Uid', <Uid key="uid" uid={uid} />],
            ['Package', advisory.artifactName],
            ['Architecture', advisory.artifactArchitecture],
            ['Component', advisory.componentName],
            ['Location', advisory.componentLocation],
            ['Changed', <Time key="changed" at={advisory.updateTime} />],
          ]}
        />
      </section>
      <section class="panel">
        <h2>Timeline</h2>
        <ol class="why-path">
          {events.map((event) => (
            <li key={event.uid}>
              <p>
                <Badge>{eventTitle(event)}</Badge> <Time at={event.createTime} />
              </p>
              <p dir="auto">{eventNote(event)}</p>
            </li>
          ))}
        </ol>
      </section>
      <SameWith
        stemma={`stemma advisories get ${uid}`}
        curl={{ path: `/vulnerabilities/v2beta1/advisories/${uid}` }}
      />
    </>
  )
}

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
