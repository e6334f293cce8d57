// Dialogs that create, move and delete a tag.
import { useSignal } from '@preact/signals'
import { Code, StemmaError } from '@stemma/api/json'
import type { TagJson } from '@stemma/api/json/platform/registry/v2beta1/tag'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { read, useRead } from '../../api/read.ts'
import { parentOf } from '../../api/uids.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Checkbox, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'

const text = (values: FormData, name: string) => String(values.get(name) ?? '').trim()

export function CreateTag({ place, repo }: PageProps & { repo: string }) {
  const { run, isRunning, error } = useWrite(api.tags.createTag, {
    ...{ done: 'Tag created', also: ['repos'], after: () => closeDialog(place) },
  })
  const create = async (values: FormData) => {
    const tag = { name: text(values, 'name'), digest: text(values, 'digest') }
    await run({ parent: repo, tag })
  }
  return (
    <Dialog place={place} title="New tag">
      <Form
        submit="Create tag"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={create}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          label="Name"
          name="name"
          required
          maxLength={128}
          hint="If the repo has a tag with this name, that tag is moved."
          problem={violationOf(error.value, 'name')}
        />
        <DigestField repo={repo} required problem={violationOf(error.value, 'digest')} />
      </Form>
    </Dialog>
  )
}

export function EditTag({ place, tag }: PageProps & { tag: TagJson }) {
  const { uid = '', name, digest, deprecated, bundles = [] } = tag
  const { run, isRunning, error } = useWrite(api.tags.updateTag, {
    ...{ done: 'Tag changed', also: ['repos'], after: () => closeDialog(place) },
  })
  const change = async (values: FormData) => {
    const changed = {
      ...{ uid, name: text(values, 'name'), deprecated: values.get('deprecated') !== null },
      bundles: text(values, 'bundles')
        .split(/[\s,]+/)
        .filter((bundle) => bundle !== ''),
      digest: text(values, 'digest'),
    }
    const mask = updateMask(tag, changed, ['name', 'deprecated', 'bundles', 'digest'])
    await run({ tag: changed, updateMask: mask })
  }
  return (
    <Dialog place={place} title="Move or change tag">
      <Form
        submit="Save"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={change}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          label="Name"
          name="name"
          required
          maxLength={128}
          defaultValue={name}
          problem={violationOf(error.value, 'name')}
        />
        <DigestField repo={parentOf(uid)} digest={digest} problem={violationOf(error.value, 'digest')} />
        <TextField
          label="Bundles"
          name="bundles"
          defaultValue={bundles.join(' ')}
          hint="Such as base or fips."
          problem={violationOf(error.value, 'bundles')}
        />
        <Checkbox
          label="Deprecated"
          name="deprecated"
          defaultChecked={deprecated === true}
          hint="Clients can still pull it."
        />
      </Form>
    </Dialog>
  )
}

const digestPattern = 'sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}'
const isDigest = (value: string) => new RegExp(`^(?:${digestPattern})$`).test(value)

type DigestFieldProps = {
  repo: string
  digest?: string | undefined
  required?: boolean
  problem: string | undefined
}

/** Shows the architectures of the image as soon as the digest is complete. */
function DigestField({ repo, digest = '', required = digest !== '', problem }: DigestFieldProps) {
  const typed = useSignal(digest)
  const { data, error } = useRead(
    read(api.images.getArchitectures, { repoUid: repo, digest: typed.value }),
    isDigest(typed.value),
  )
  const found = data && `An image for ${data.architectures?.join(', ') || 'an unknown architecture'}.`
  const isMissing = error instanceof StemmaError && error.code === Code.NOT_FOUND
  const hint = isMissing ? 'The repo does not have this image yet.' : found
  return (
    <TextField
      label="Digest of the image"
      name="digest"
      required={required}
      pattern={digestPattern}
      defaultValue={digest}
      placeholder="sha256:…"
      onInput={(event) => {
        typed.value = event.currentTarget.value.trim()
      }}
      hint={isDigest(typed.value) && hint ? hint : 'sha256: and 64 hexadecimal digits, or sha512: and 128.'}
      problem={problem}
    />
  )
}

type DeleteTagProps = PageProps & { tag: TagJson; after?: () => unknown }

export function DeleteTag({ place, tag, after = () => closeDialog(place) }: DeleteTagProps) {
  const { run, isRunning, error } = useWrite(api.tags.deleteTag, {
    ...{ done: 'Tag deleted', also: ['repos'], after },
  })
  return (
    <ConfirmDelete
      place={place}
      kind="tag"
      name={tag.name ?? ''}
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={() => void run({ uid: tag.uid ?? '' })}
    >
      <p>The image stays, and can be pulled by its digest until retention deletes it.</p>
    </ConfirmDelete>
  )
}
