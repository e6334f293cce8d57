import { CodeBlock, serverUrl } from '../../ui/code-block.tsx'
import { Empty } from '../../ui/empty.tsx'
import { useGroupPath } from './image-name.ts'

/** Commands that sign `stemma` in to this server, and then docker. */
export const loginCommand = () => `stemma auth login --api ${serverUrl()}\nstemma registry login`

/** Shown in place of an empty list of repos or tags: how to push the first image. `repo` is the name of an existing repo. */
export function FirstPush({ group, repo }: { group: string; repo?: string | undefined }) {
  const path = useGroupPath(group)
  const image = `${location.host}/${path ?? group}/${repo ?? 'app'}:v1`
  return (
    <Empty
      icon="repo"
      title={repo ? 'No tags yet' : 'No repos yet'}
      action={
        <CodeBlock
          label="push commands"
          code={`${loginCommand()}\ndocker pull alpine\ndocker tag alpine ${image}\ndocker push ${image}`}
        />
      }
    >
      {repo
        ? 'Push an image to this repo, for instance a small public one:'
        : 'Push an image, for instance a small public one. The push creates the repo by itself, if you may create one:'}
    </Empty>
  )
}
