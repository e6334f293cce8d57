import { Properties } from '../../ui/properties.tsx'
import { Time } from '../../ui/time.tsx'
import type { ImageConfig } from './image.ts'
import { shellText } from './image.ts'

const code = (text: string) => text && <code>{text}</code>

/** How the image runs: what it starts, as whom, with which environment. */
export const Configuration = ({ config }: { config: ImageConfig }) => (
  <>
    <Properties
      rows={[
        ['Platform', config.platform],
        ['Entrypoint', code(shellText(config.entrypoint))],
        ['Command', code(shellText(config.command))],
        ['Working directory', code(config.workingDir)],
        ['User', config.user || 'root (no user is set)'],
        ['Ports', config.ports.join(', ')],
        ['Volumes', config.volumes.join(', ')],
        ['Author', config.author],
        ['Created', config.created && <Time key="created" at={config.created} />],
      ]}
    />
    <Pairs title="Environment" pairs={config.env} />
    <Pairs title="Labels" pairs={config.labels} />
  </>
)

const Pairs = ({ title, pairs }: { title: string; pairs: readonly (readonly [string, string])[] }) =>
  pairs.length > 0 && (
    <>
      <h3>{title}</h3>
      <dl class="pairs">
        {pairs.map(([name, value], at) => (
          <div key={at}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd dir="auto">
              <code>{value}</code>
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
