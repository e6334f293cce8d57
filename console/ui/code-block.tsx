// Code to copy, and the commands that read the data of a page.
import { quote } from './commands.ts'
import { Copy } from './copy.tsx'
import { Icon } from './icon.tsx'

export const CodeBlock = ({ code, label }: { code: string; label: string }) => (
  <div class="code-block">
    <pre tabIndex={0} aria-label={label}>
      <code>{code}</code>
    </pre>
    <Copy text={code} label={`Copy ${label}`} />
  </div>
)

export type PageCommandsProps = { stemma: string; curl: CurlRequest }

/** `path` is below the base URL. */
export type CurlRequest = { path: string; verb?: string; body?: unknown }

export const PageCommands = ({ stemma, curl }: PageCommandsProps) => (
  <details class="page-commands">
    <summary>
      <Icon name="terminal" /> Same with stemma or curl
    </summary>
    <CodeBlock label="stemma command" code={stemma} />
    <CodeBlock label="curl command" code={curlOf(curl)} />
  </details>
)

/** The base URL of the server. */
export const serverUrl = () => location.origin + (document.documentElement.dataset.prefix ?? '')

function curlOf({ path, verb = 'GET', body }: CurlRequest): string {
  return [
    `curl ${verb === 'GET' ? '' : `-X ${verb} `}-H "Authorization: Bearer $(stemma auth token)"`,
    ...(body === undefined
      ? []
      : [`  -H 'Content-Type: application/json' -d ${quote(JSON.stringify(body))}`]),
    `  ${quote(serverUrl() + path)}`,
  ].join(' \\\n')
}
