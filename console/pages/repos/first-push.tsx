// Shown in place of an empty list of repos or tags: how to push the first image.
import type { RepoJson } from '@stemma/api/json/platform/registry/v2beta1/repo'
import { CodeBlock, serverUrl } from '../../ui/code-block.tsx'
import { Empty } from '../../ui/empty.tsx'
import { useGroupPath, useImageName } from './image-name.ts'

/** Commands that sign `stemma` in to this server, and then docker. */
export const loginCommand = () => `stemma auth login --api ${serverUrl()}\nstemma registry login`

export function NoTags({ repo }: { repo: RepoJson }) {
  const image = useImageName(repo)
  return (
    <Empty icon="repo" title="No tags yet" action={<PushCommands image={image} />}>
      Push an image to this repo, for instance a small public one:
    </Empty>
  )
}

/** A push creates a repo only if it names the group by its path. With a uid, only an existing repo can be named. */
export function NoRepos({ group }: { group: string }) {
  const path = useGroupPath(group)
  if (path === undefined)
    return (
      <Empty icon="repo" title="No repos yet">
        Create a repo first. Its page shows how to push an image to it.
      </Empty>
    )
  return (
    <Empty icon="repo" title="No repos yet" action={<PushCommands image={`${location.host}/${path}/app`} />}>
      Push an image, for instance a small public one. The push creates the repo by itself, if you may create
      one:
    </Empty>
  )
}

const PushCommands = ({ image }: { image: string }) => (
  <CodeBlock
    label="push commands"
    code={`${loginCommand()}\ndocker pull alpine\ndocker tag alpine ${image}:v1\ndocker push ${image}:v1`}
  />
)
