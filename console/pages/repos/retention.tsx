// The rules by which old tags and images of a repo are deleted, with a preview of what they would delete.
import { useSignal } from '@preact/signals'
import type {
  PreviewRetentionResponseJson,
  RepoJson,
  RetentionJson,
  RetentionRuleJson,
} from '@stemma/api/json/platform/registry/v2beta1/repo'
import { useRef } from 'preact/hooks'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Digest } from '../../ui/copy.tsx'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { daysOf, durationOf, minDays } from './retention-text.ts'

/** The most that the API accepts. */
const maxRules = 10
const maxShown = 50

type FormRule = { id: number; rule: RetentionRuleJson }

export function EditRetention({ place, repo }: PageProps & { repo: RepoJson }) {
  const { uid = '', retention = {} } = repo
  const rules = useSignal<FormRule[]>((retention.rules ?? []).map((rule, id) => ({ id, rule })))
  const preview = useSignal<PreviewRetentionResponseJson | undefined>(undefined)
  const previewError = useSignal<unknown>(undefined)
  const isPreviewing = useSignal(false)
  const { run, isRunning, error } = useWrite(api.repos.updateRepo, { done: 'Retention changed' })

  const valuesOf = (values: FormData) => retentionOf(values, rules.value)
  /** Increases with each change of the form, so that a preview of earlier values is not shown. */
  const version = useRef(0)
  const dropPreview = () => {
    version.current++
    preview.value = undefined
  }
  /** The errors name rules by their number, which changes if rules are removed. */
  const dropErrors = () => {
    error.value = undefined
    previewError.value = undefined
  }
  const setRules = (next: FormRule[]) => {
    rules.value = next
    dropPreview()
    dropErrors()
  }
  const save = async (values: FormData) => {
    dropErrors()
    if (await run({ repo: { uid, retention: valuesOf(values) }, updateMask: 'retention' }))
      await closeDialog(place)
  }
  const tryRules = async (form: HTMLFormElement | null) => {
    if (!form?.reportValidity()) return
    isPreviewing.value = true
    dropPreview()
    dropErrors()
    const previewed = version.current
    try {
      const result = await api.repos.previewRetention({ uid, retention: valuesOf(new FormData(form)) })
      if (previewed === version.current) preview.value = result
    } catch (caught) {
      if (previewed === version.current) previewError.value = caught
    } finally {
      isPreviewing.value = false
    }
  }
  const fault = error.value ?? previewError.value
  return (
    <Dialog place={place} title={`Retention of ${repo.name}`} isWide>
      <Form
        submit="Save"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={save}
        onInput={dropPreview}
        onCancel={() => void closeDialog(place)}
      >
        <p>
          Once a day, tags that no rule keeps are deleted. Without rules all tags are kept. Immutable tags are
          never deleted.
        </p>
        {rules.value.map(({ id, rule }, at) => (
          <fieldset key={id} class="retention-rule">
            <legend>Rule {at + 1}</legend>
            <TextField
              label="Tags"
              name={`tags-${id}`}
              placeholder="all"
              defaultValue={rule.tags?.join(' ')}
              hint="Patterns, such as v*"
              problem={violationOf(fault, `rules[${at}].tags`)}
            />
            <TextField
              label="Keep the last"
              name={`recent-${id}`}
              type="number"
              min="1"
              max="10000"
              defaultValue={rule.keepMostRecent ? String(rule.keepMostRecent) : ''}
              hint="Number of tags"
              problem={violationOf(fault, `rules[${at}].keep_most_recent`)}
            />
            <TextField
              label="Keep if pushed within"
              name={`days-${id}`}
              type="number"
              min={minDays}
              max="3650"
              step="any"
              defaultValue={daysOf(rule.keepPushedWithin)}
              hint="Days"
              problem={violationOf(fault, `rules[${at}].keep_pushed_within`)}
            />
            <IconButton
              icon="close"
              label={`Remove rule ${at + 1}`}
              onClick={() => {
                setRules(rules.value.filter((each) => each.id !== id))
              }}
            />
          </fieldset>
        ))}
        <div>
          <Button
            icon="plus"
            disabledReason={rules.value.length >= maxRules ? `At most ${maxRules} rules.` : undefined}
            onClick={() => {
              const id = Math.max(-1, ...rules.value.map((each) => each.id)) + 1
              setRules([...rules.value, { id, rule: {} }])
            }}
          >
            Add rule
          </Button>
        </div>
        <TextField
          label="Delete images without a tag after"
          name="untagged"
          type="number"
          min={minDays}
          max="3650"
          step="any"
          defaultValue={daysOf(retention.deleteUntaggedAfter)}
          hint="Days. Empty: never."
          problem={violationOf(fault, 'delete_untagged_after')}
        />
        <div>
          <Button isBusy={isPreviewing.value} onClick={(event) => void tryRules(event.currentTarget.form)}>
            Preview what would be deleted
          </Button>
        </div>
        <div role="status">
          {preview.value && <Preview result={preview.value} />}
          {previewError.value !== undefined && <Problem error={previewError.value} />}
        </div>
      </Form>
    </Dialog>
  )
}

function retentionOf(values: FormData, rules: readonly FormRule[]): RetentionJson {
  const text = (name: string) => String(values.get(name) ?? '').trim()
  const untagged = durationOf(text('untagged'))
  return {
    rules: rules.map(({ id }) => {
      const within = durationOf(text(`days-${id}`))
      return {
        tags: text(`tags-${id}`)
          .split(/[\s,]+/)
          .filter((pattern) => pattern !== ''),
        keepMostRecent: Number(text(`recent-${id}`)),
        ...(within && { keepPushedWithin: within }),
      }
    }),
    ...(untagged && { deleteUntaggedAfter: untagged }),
  }
}

function Preview({ result }: { result: PreviewRetentionResponseJson }) {
  const { decisions = [], deletedTags = 0, keptTags = 0, deletedManifests = 0 } = result
  const deleted = decisions.filter(({ action }) => action === 'RETENTION_ACTION_DELETE')
  return (
    <div class="preview">
      <p>
        <strong>
          {deletedTags + deletedManifests === 0
            ? 'Nothing would be deleted now.'
            : `${countText(deletedTags, 'tag')} and ${countText(deletedManifests, 'image')} would be deleted now.`}
        </strong>{' '}
        {countText(keptTags, 'tag')} would be kept.
      </p>
      {deleted.length > 0 && (
        <Table
          label="Would be deleted"
          rows={deleted.slice(0, maxShown).map((each, at) => ({ ...each, at }))}
          uidOf={({ at }) => String(at)}
          nameOf={({ tag, digest }) => tag ?? digest ?? ''}
          hasUids={false}
          columns={[
            { title: 'Tag', cell: ({ tag }) => tag ?? <span class="quiet">image without a tag</span> },
            {
              title: 'Digest',
              cell: ({ digest }) => digest && <Digest digest={digest} />,
              isSecondary: true,
            },
            { title: 'Age', cell: ({ time }) => <Time at={time} /> },
            { title: 'Reason', cell: ({ reason }) => reason, isSecondary: true },
          ]}
        />
      )}
      {deleted.length > maxShown && <p class="quiet small">The first {maxShown} are shown.</p>}
    </div>
  )
}

const countText = (count: number, noun: string) =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
