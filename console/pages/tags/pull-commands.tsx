import type { PageProps } from '../../router/route.ts'
import { CodeBlock } from '../../ui/code-block.tsx'
import { ChoiceFilter } from '../../ui/filter.tsx'

/** A flag that some clients need for a registry without TLS. Docker has a setting in place of a flag. */
const flag = (text: string) => (location.protocol === 'https:' ? '' : ` ${text}`)

const clients: { value: string; label: string; command: (image: string) => string }[] = [
  { value: '', label: 'docker', command: (image) => `docker pull ${image}` },
  {
    value: 'podman',
    label: 'podman',
    command: (image) => `podman pull${flag('--tls-verify=false')} ${image}`,
  },
  {
    value: 'crane',
    label: 'crane',
    command: (image) => `crane pull${flag('--insecure')} ${image} image.tar`,
  },
  {
    value: 'skopeo',
    label: 'skopeo',
    command: (image) => `skopeo copy${flag('--src-tls-verify=false')} docker://${image} dir:image`,
  },
  { value: 'dockerfile', label: 'Dockerfile', command: (image) => `FROM ${image}` },
  { value: 'kubernetes', label: 'Kubernetes', command: (image) => `image: ${image}` },
]

type PullCommandsProps = PageProps & { image: string; tag: string; digest: string }

/** How clients pull an image, by its tag and by its digest. */
export function PullCommands({ place, image, tag, digest }: PullCommandsProps) {
  const chosen = place.query.get('client') ?? ''
  const { command } = clients.find(({ value }) => value === chosen) ?? clients[0] ?? { command: String }
  return (
    <section class="panel">
      <div class="panel-header">
        <h2>Pull</h2>
        <ChoiceFilter place={place} name="client" label="Client" options={clients} />
      </div>
      <div class="commands">
        <CodeBlock label="pull command" code={command(`${image}:${tag}`)} />
        {digest && (
          <>
            <p class="quiet">Exactly this image, wherever the tag moves:</p>
            <CodeBlock label="pull command with the digest" code={command(`${image}@${digest}`)} />
          </>
        )}
      </div>
    </section>
  )
}
