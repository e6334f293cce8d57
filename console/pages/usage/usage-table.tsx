// How much a group contains against its limits, and the dialog that sets a limit. Also shown to operators of the server.
import type { UnaryCall } from '@stemma/api/json'
import type { KindUsageJson } from '@stemma/api/json/platform/iam/v2beta1/group'
import { violationOf } from '../../api/error-text.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Table } from '../../ui/table.tsx'

const titleOf = (kind = '') =>
  kind === 'registry_mebibytes' ? 'content of repos, in MiB' : kind.replaceAll('_', ' ')

type LimitRequest = { uid?: string; resourceLimits?: { [kind: string]: number }; remove?: string[] }

export type UsageTableProps<Response> = PageProps & {
  /** The uid of the group. */
  group: string
  kinds: readonly KindUsageJson[]
  /** The limits of the group itself, by kind. `kinds` has the limits that are reached first, which may be of groups above. */
  ownLimits: { [kind: string]: number }
  /** The heading of the table, for a page with several headings. */
  title?: string
  /** The call that sets limits. */
  setLimits: UnaryCall<LimitRequest, Response>
  /** Why the person may not set limits. */
  disabledReason?: string | undefined
}

export function UsageTable<Response>({
  place,
  group,
  kinds,
  ownLimits,
  title,
  setLimits,
  disabledReason,
}: UsageTableProps<Response>) {
  const about = place.query.get('about') ?? ''
  return (
    <>
      <section class="panel flush">
        {title && <h2>{title}</h2>}
        <Table
          label="Usage"
          rows={kinds}
          uidOf={({ kind = '' }) => kind}
          nameOf={({ kind }) => titleOf(kind)}
          hasUids={false}
          columns={[
            { title: 'Kind', cell: ({ kind }) => titleOf(kind) },
            { title: 'Used', isNumber: true, cell: (entry) => <Bar entry={entry} /> },
            {
              title: 'Limit',
              isNumber: true,
              cell: ({ limit }) => (limit === undefined ? 'none' : Number(limit).toLocaleString('en')),
            },
            { title: 'Set by', isSecondary: true, cell: (entry) => sourceOf(entry, group) },
          ]}
          actions={({ kind }) => [
            { label: 'Set a limit', to: dialogPath(place, 'limit', kind), disabledReason },
          ]}
        />
      </section>
      {isDialogOpen(place, 'limit') && (
        <SetLimit
          {...{ place, group, setLimits, disabledReason }}
          usage={kinds.find(({ kind }) => kind === about)}
          ownLimit={ownLimits[about]}
        />
      )}
    </>
  )
}

function sourceOf({ limit, limitGroupUid, defaultLimit }: KindUsageJson, group: string): string {
  if (limit === undefined) return ''
  if (defaultLimit) return 'default of the server'
  return limitGroupUid === group ? 'this group' : 'a group above'
}

/** The usage of the group, and how much of the limit is used. The limit may be that of a group above. */
function Bar({ entry: { used = '0', limit, limitUsed = used, kind } }: { entry: KindUsageJson }) {
  const max = Number(limit ?? 0)
  return (
    <span class="usage-bar">
      {limit !== undefined && (
        <meter
          aria-label={`Used part of the limit of ${titleOf(kind)}`}
          value={Number(limitUsed)}
          max={Math.max(max, 1)}
          high={max * 0.9}
        />
      )}
      <span>{Number(used).toLocaleString('en')}</span>
    </span>
  )
}

type SetLimitProps<Response> = Omit<UsageTableProps<Response>, 'kinds' | 'ownLimits' | 'title'> & {
  usage: KindUsageJson | undefined
  ownLimit: number | undefined
}

function SetLimit<Response>({
  place,
  group,
  usage,
  ownLimit,
  setLimits,
  disabledReason,
}: SetLimitProps<Response>) {
  const kind = usage?.kind ?? ''
  const { run, isRunning, error } = useWrite(setLimits, {
    done: 'Limit changed',
    after: () => closeDialog(place),
  })
  const change = async (values: FormData) => {
    const text = String(values.get('limit'))
    const request = text === '' ? { remove: [kind] } : { resourceLimits: { [kind]: Number(text) } }
    await run({ uid: group, ...request })
  }
  return (
    <Dialog place={place} title={`Limit of ${titleOf(kind)}`}>
      <Form
        submit="Save"
        isRunning={isRunning.value}
        error={error.value}
        disabledReason={disabledReason}
        onSubmit={change}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          label="At most"
          name="limit"
          type="number"
          min="0"
          max="2147483647"
          defaultValue={String(ownLimit ?? '')}
          hint={`If empty, the group has no limit of its own. ${Number(usage?.used ?? 0).toLocaleString('en')} are used now.`}
          problem={violationOf(error.value, 'resource_limits')}
        />
      </Form>
    </Dialog>
  )
}
