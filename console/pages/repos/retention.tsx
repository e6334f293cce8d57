// The rules by which old tags and images of a repo are deleted, with a preview of what they would delete.
import type { Signal } from '@preact/signals'
import { useSignal } from '@preact/signals'
import type {
  RepoJson,
  RetentionJson,
  RetentionRuleJson,
} from '@stemma/api/json/platform/registry/v2beta1/repo'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { RetentionPreview, useRetentionPreview } from './retention-preview.tsx'
import { daysOf, durationOf, minDays } from './retention-text.ts'

/** The most that the API accepts. */
const maxRules = 10

type FormRule = { id: number; rule: RetentionRuleJson }

export function EditRetention({ place, repo }: PageProps & { repo: RepoJson }) {
  const { uid = '', retention = {} } = repo
  const rules = useSignal<readonly FormRule[]>((retention.rules ?? []).map((rule, id) => ({ id, rule })))
  const preview = useRetentionPreview(uid)
  const { run, isRunning, error } = useWrite(api.repos.updateRepo, {
    done: 'Retention changed',
    after: () => closeDialog(place),
  })

  const valuesOf = (values: FormData) => retentionOf(values, rules.value)
  /** The errors name rules by their number, which changes if rules are removed. */
  const dropErrors = () => {
    error.value = undefined
    preview.error.value = undefined
  }
  const setRules = (next: readonly FormRule[]) => {
    rules.value = next
    preview.drop()
    dropErrors()
  }
  const save = async (values: FormData) => {
    dropErrors()
    await run({ repo: { uid, retention: valuesOf(values) }, updateMask: 'retention' })
  }
  const tryRules = (form: HTMLFormElement | null) => {
    if (!form?.reportValidity()) return
    error.value = undefined
    void preview.run(valuesOf(new FormData(form)))
  }
  const fault = error.value ?? preview.error.value
  return (
    <Dialog place={place} title={`Retention of ${repo.name}`} isWide>
      <Form
        submit="Save"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={save}
        onInput={preview.drop}
        onCancel={() => void closeDialog(place)}
      >
        <p>
          Once a day, tags that no rule keeps are deleted. Without rules all tags are kept. Immutable tags are
          never deleted.
        </p>
        <Rules rules={rules} fault={fault} onChange={setRules} />
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
          <Button isBusy={preview.isRunning.value} onClick={(event) => tryRules(event.currentTarget.form)}>
            Preview what would be deleted
          </Button>
        </div>
        <div role="status">
          {preview.result.value && <RetentionPreview result={preview.result.value} />}
          {preview.error.value !== undefined && <Problem error={preview.error.value} />}
        </div>
      </Form>
    </Dialog>
  )
}

type RulesProps = {
  rules: Signal<readonly FormRule[]>
  /** The error of the last call, which may name fields of rules. */
  fault: unknown
  onChange(rules: readonly FormRule[]): void
}

const Rules = ({ rules, fault, onChange }: RulesProps) => (
  <>
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
          onClick={() => onChange(rules.value.filter((each) => each.id !== id))}
        />
      </fieldset>
    ))}
    <div>
      <Button
        icon="plus"
        disabledReason={rules.value.length >= maxRules ? `At most ${maxRules} rules.` : undefined}
        onClick={() => {
          const id = Math.max(-1, ...rules.value.map((each) => each.id)) + 1
          onChange([...rules.value, { id, rule: {} }])
        }}
      >
        Add rule
      </Button>
    </div>
  </>
)

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
