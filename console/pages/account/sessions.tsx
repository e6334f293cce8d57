// Browsers and programs in which the person is signed in.
import type { SessionJson } from '@stemma/api/json/platform/iam/v2beta1/account'
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import { useWrite } from '../../api/write.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Problem } from '../../ui/form.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

export const readSessions = () => read(api.account.listSessions, {})

export function Sessions() {
  const { sessions = [] } = useData(readSessions())
  const end = useWrite(api.account.endSession, { done: 'Session ended' })
  const endAll = useWrite(api.account.endSessions, { done: 'All sessions ended' })
  const error = end.error.value ?? endAll.error.value
  const endOne = (id: string) => {
    endAll.error.value = undefined
    void end.run({ id })
  }
  const endEverywhere = () => {
    end.error.value = undefined
    void endAll.run({})
  }
  return (
    <section class="panel flush">
      <div class="panel-header inset">
        <h2>Where you are signed in</h2>
        <Button isBusy={endAll.isRunning.value} onClick={endEverywhere}>
          Sign out everywhere
        </Button>
      </div>
      {error !== undefined && <Problem error={error} />}
      <Table
        label="Sessions"
        rows={sessions}
        uidOf={({ id = '' }) => id}
        nameOf={(session) => (session.current ? 'this browser' : programOf(session))}
        hasUids={false}
        columns={[
          {
            title: 'Program',
            cell: (session) => (
              <>
                {programOf(session)} {session.current && <Badge tone="good">this browser</Badge>}
              </>
            ),
          },
          { title: 'Address', cell: ({ address }) => address, isSecondary: true },
          {
            title: 'Last used',
            cell: ({ lastUseTime, createTime }) => <Time at={lastUseTime ?? createTime} />,
          },
        ]}
        actions={({ id = '' }) => [{ label: 'End this session', onSelect: () => endOne(id), isDanger: true }]}
      />
    </section>
  )
}

const programOf = ({ client, browser }: SessionJson) => client || (browser ? 'Browser' : 'Program')
