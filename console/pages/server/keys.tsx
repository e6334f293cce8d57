// The keys of the server, for its operators.
import type { KeyJson } from '@stemma/api/json/platform/server/v2beta1/server'
import { api } from '../../api/api.ts'
import { read, useData } from '../../api/read.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { copyText } from '../../ui/copy.tsx'
import { closeDialog, Dialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

const readKeys = () => read(api.server.listKeys, {})

export const load = () => [readKeys()]

export default function Keys({ place }: PageProps) {
  const { keys = [] } = useData(readKeys())
  return (
    <>
      <PageHeader
        title="Keys"
        about="Keys that sign tokens and encrypt the page tokens of lists. The server replaces them every 90 days by itself."
        actions={<ButtonLink to={dialogPath(place, 'rotate')}>Rotate now</ButtonLink>}
      />
      <section class="panel flush">
        <Table
          label="Keys"
          rows={keys}
          uidOf={({ id = '' }) => id}
          nameOf={({ id = '' }) => id.slice(0, 12)}
          hasUids={false}
          actions={({ id = '' }) => [{ label: 'Copy id', onSelect: () => void copyText(id) }]}
          columns={[
            { title: 'Key', cell: ({ id = '' }) => <code title={id}>{id.slice(0, 12)}</code> },
            { title: 'Purpose', cell: ({ purpose = 'KEY_PURPOSE_UNSPECIFIED' }) => purposes[purpose] },
            { title: 'State', cell: (key) => <State of={key} /> },
            { title: 'Made', cell: ({ createTime }) => <Time at={createTime} />, isSecondary: true },
            {
              title: 'Replaced',
              cell: ({ retireTime }) => (retireTime ? <Time at={retireTime} /> : ''),
              isSecondary: true,
            },
          ]}
        />
      </section>
      <PageCommands stemma="stemma server list-keys" curl={{ path: '/server/v2beta1/keys' }} />
      {isDialogOpen(place, 'rotate') && <Rotate place={place} />}
    </>
  )
}

const purposes: Record<NonNullable<KeyJson['purpose']>, string> = {
  KEY_PURPOSE_UNSPECIFIED: '',
  KEY_PURPOSE_ACCESS_TOKENS: 'access tokens',
  KEY_PURPOSE_TOKENS: 'access tokens and id tokens',
  KEY_PURPOSE_PAGE_TOKENS: 'page tokens of lists',
}

function State({ of: { state } }: { of: KeyJson }) {
  if (state === 'KEY_STATE_ACTIVE') return <Badge tone="good">in use</Badge>
  return state === 'KEY_STATE_PENDING' ? <Badge tone="warning">used soon</Badge> : <Badge>retired</Badge>
}

function Rotate({ place }: PageProps) {
  const { run, isRunning, error } = useWrite(api.server.rotateKeys, {
    ...{ done: 'New keys made', after: () => closeDialog(place) },
  })
  return (
    <Dialog place={place} title="Replace all keys?">
      <Form
        submit="Rotate keys"
        tone="danger"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={(values) => void run({ revoke: values.get('revoke') !== null })}
        onCancel={() => void closeDialog(place)}
      >
        <p>
          Without the option below, new keys come into use in ten minutes, and tokens that were signed with
          the old keys stay valid until they expire.
        </p>
        <Checkbox
          name="revoke"
          label="A key may have leaked: make all tokens invalid now"
          hint="People who are signed in get new tokens without signing in again; workloads must exchange the tokens of their issuers again."
        />
      </Form>
    </Dialog>
  )
}
