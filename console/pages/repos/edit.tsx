import type { RepoJson, RepoReadmeJson } from '@stemma/api/json/platform/registry/v2beta1/repo'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { updateMask } from '../../api/update-mask.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { closeDialog, Dialog } from '../../ui/dialog.tsx'
import { Checkbox, TextArea, TextField } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'

export type EditRepoProps = PageProps & {
  repo: RepoJson
  /** Undefined until it is loaded. Until then it cannot be changed. */
  readme: RepoReadmeJson | undefined
  /** Why the readme cannot be loaded. */
  readmeError: unknown
}

/** Changes the texts of a repo, who may pull, and which tags cannot be moved. */
export function EditRepo({ place, repo, readme, readmeError }: EditRepoProps) {
  const repos = useWrite(api.repos.updateRepo, { done: 'Repo changed', after: () => closeDialog(place) })
  const readmes = useWrite(api.repos.updateRepoReadme)
  const error = repos.error.value ?? readmes.error.value
  const change = async (values: FormData) => {
    const text = (name: string) => String(values.get(name) ?? '').trim()
    const changed = {
      ...{ uid: repo.uid ?? '', description: text('description'), public: values.get('public') !== null },
      immutableTags: text('immutable')
        .split(/\s+/)
        .filter((pattern) => pattern !== ''),
    }
    const mask = updateMask(repo, changed, ['description', 'public', 'immutableTags'])
    const repoReadme = { uid: repo.uid ?? '', content: withLineFeeds(text('readme')) }
    const isReadmeChanged =
      values.has('readme') && repoReadme.content !== withLineFeeds(readme?.content ?? '').trim()
    if (isReadmeChanged && !(await readmes.run({ repoReadme }))) return
    await repos.run({ repo: changed, updateMask: mask })
  }
  return (
    <Dialog place={place} title="Change repo">
      <Form
        submit="Save"
        isRunning={repos.isRunning.value || readmes.isRunning.value}
        error={error}
        onSubmit={change}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          label="Description"
          name="description"
          defaultValue={repo.description}
          problem={violationOf(error, 'description')}
        />
        <TextArea
          label="Tags that cannot be moved or deleted"
          name="immutable"
          defaultValue={repo.immutableTags?.join('\n')}
          hint="One on each line; * stands for any characters, as in v*."
          problem={violationOf(error, 'immutable_tags')}
        />
        <Checkbox
          label="Everybody may pull"
          name="public"
          defaultChecked={repo.public === true}
          hint="Works only if the server allows public repos."
        />
        {readme ? (
          <TextArea
            label="Readme"
            name="readme"
            rows={6}
            defaultValue={readme.content}
            problem={violationOf(error, 'content')}
          />
        ) : readmeError ? (
          <Problem error={readmeError} />
        ) : (
          <Skeleton />
        )}
      </Form>
    </Dialog>
  )
}

/** A text field changes the line breaks of its value, so texts are compared without that difference. */
const withLineFeeds = (text: string) => text.replace(/\r\n?/g, '\n')
