// How much a group contains, and the limits that apply to it.
import type { KindUsageJson } from '@stemma/api/json/platform/iam/v2beta1/group'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps, Place } from '../../router/route.ts'
import { SameWith } from '../../ui/code-block.tsx'
import { closeDialog, Dialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Table } from '../../ui/table.tsx'

const readUsage = ({ group }: Place) => read(api.groups.getGroupUsage, { uid: group })

export const load = (place: Place) => [readUsage(place)]

const titleOf = (kind = '') => kind.replaceAll('_', ' ')

export default function Usage({ place }: PageProps) {
  const { kinds = [] } = useData(readUsage(place))
  const denial = useDenial(place.group)
  const about = place.query.get('about') ?? ''
  return (
    <>
      <PageHeader
        title="Usage"
        about="What this group and everything below it contain, against the nearest limit. A limit can only be lowered further down."
      />
      <section class="panel flush">
        <Table
          label="Usage"
          rows={kinds}
          uidOf={({ kind = '' }) => kind}
          nameOf={({ kind }) => titleOf(kind)}
          hasUids={false}
          columns={[
            { title: 'Kind', cell: ({ kind }) => titleOf(kind) },
            { title: 'Used', cell: (entry) => <Bar entry={entry} /> },
            {
              title: 'Limit',
              isNumber: true,
              cell: ({ limit }) => (limit === undefined ? 'none' : Number(limit).toLocaleString('en')),
            },
            {
              title: 'Set by',
              isSecondary: true,
              cell: ({ limit, limitGroupUid, defaultLimit }) =>
                limit === undefined
                  ? ''
                  : defaultLimit
                    ? 'the server'
                    : limitGroupUid === place.group
                      ? 'this group'
                      : 'a group above',
            },
          ]}
          actions={({ kind }) => [
            {
              label: 'Set a limit',
              to: dialogPath(place, 'limit', kind),
              disabledReason: denial('groups.update'),
            },
          ]}
        />
      </section>
      <SameWith
        stemma={`stemma groups usage ${place.group}`}
        curl={{ path: `/iam/v2beta1/groups/${place.group}:usage` }}
      />
      {isDialogOpen(place, 'limit') && (
        <SetLimit place={place} usage={kinds.find(({ kind }) => kind === about)} />
      )}
    </>
  )
}

function Bar({ entry: { used = '0', limit, kind } }: { entry: KindUsageJson }) {
  const [value, max] = [Number(used), Number(limit ?? 0)]
  return (
    <span class="usage-bar">
      <span>{value.toLocaleString('en')}</span>
      {limit !== undefined && (
        <meter aria-label={`${titleOf(kind)} used`} value={value} max={Math.max(max, 1)} high={max * 0.9} />
      )}
    </span>
  )
}

function SetLimit({ place, usage }: PageProps & { usage: KindUsageJson | undefined }) {
  const kind = usage?.kind ?? ''
  const { run, isRunning, error } = useWrite(api.groups.setGroupLimits, { done: 'Limit changed' })
  const change = async (values: FormData) => {
    const text = String(values.get('limit'))
    const request = text === '' ? { remove: [kind] } : { resourceLimits: { [kind]: Number(text) } }
    if (await run({ uid: place.group, ...request })) await closeDialog(place)
  }
  return (
    <Dialog place={place} title={`Limit of ${titleOf(kind)}`}>
      <Form
        submit="Save"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={change}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          label="At most"
          name="limit"
          type="number"
          min="0"
          defaultValue={usage?.limitGroupUid === place.group ? String(usage?.limit ?? '') : ''}
          hint={`Empty: no limit of its own. ${Number(usage?.used ?? 0).toLocaleString('en')} are used now.`}
          problem={violationOf(error.value, 'resource_limits')}
        />
      </Form>
    </Dialog>
  )
}
