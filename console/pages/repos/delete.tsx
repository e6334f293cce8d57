import type { RepoJson } from '@stemma/api/json/platform/registry/v2beta1/repo'
import { api } from '../../api/api.ts'
import { read, useRead } from '../../api/read.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { closeDialog } from '../../ui/dialog.tsx'
import { Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { sizeText } from './size.ts'

const maxNames = 10

type DeleteRepoProps = PageProps & { repo: RepoJson; after?: () => unknown }

/** Deletes a repo, and lists what is inside. */
export function DeleteRepo({ place, repo, after = () => closeDialog(place) }: DeleteRepoProps) {
  const { uid = '', name = '', size } = repo
  const { data, error: readError } = useRead(
    read(api.tags.listTags, {
      ...{ uidp: { childrenOf: uid }, orderBy: 'update_time desc', pageSize: maxNames },
      ...{ includeReferrers: true, includeDates: true, includeEpochs: true },
    }),
  )
  const { run, isRunning, error } = useWrite(api.repos.deleteRepo, {
    ...{ done: 'Repo deleted', also: ['tags'], after },
  })
  const total = Number(data?.totalCount ?? 0)
  const isEmpty = size === undefined && total === 0
  return (
    <ConfirmDelete
      place={place}
      kind="repo"
      name={name}
      mustTypeName
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={() => void run({ uid })}
    >
      {readError && <Problem error={readError} />}
      {!data && !readError && <Skeleton />}
      {data && isEmpty && <p>The repo is empty. This cannot be undone.</p>}
      {data && !isEmpty && (
        <>
          <p>This is deleted with it, and cannot be restored:</p>
          <ul>
            <li>{sizeText(size)} of images</li>
            <li>
              {total.toLocaleString('en')} {total === 1 ? 'tag' : 'tags'}
              {total > 0 && `: ${data.tags?.map((tag) => tag.name).join(', ')}`}
              {total > maxNames && ' …'}
            </li>
          </ul>
        </>
      )}
    </ConfirmDelete>
  )
}
