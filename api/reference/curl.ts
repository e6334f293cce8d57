// Operations as curl commands.
import type { DescField } from '@bufbuild/protobuf'
import { isRequired } from '../method.ts'
import { bodyExample, scalarExample } from './examples.ts'
import type { Operation } from './operations.ts'

const baseUrl = 'http://localhost:8080'

export function curlOf(operation: Operation): string {
  const { verb, method, body } = operation
  const { access } = method
  const isForm = body?.type === 'application/x-www-form-urlencoded'
  const isDefaultVerb = verb === 'GET' || (verb === 'POST' && body !== undefined)
  const token = access?.open ? (access.credential === '' ? undefined : '$OTHER_TOKEN') : '$TOKEN'
  const parts = [
    `curl${isDefaultVerb ? '' : ` -X ${verb}`} "${baseUrl}${pathOf(operation)}${queryOf(operation)}"`,
    ...(token ? [`-H "Authorization: Bearer ${token}"`] : []),
    ...(isForm ? formOf(operation) : bodyOf(operation)),
  ]
  return parts.join(' \\\n  ')
}

/** A variable before a colon is in braces, because zsh reads `$RESOURCE:redeliver` as a variable with the modifier `:r`. */
const pathOf = ({ path }: Operation) =>
  path.replaceAll(/\{([^}]*)\}(:?)/g, (_, name: string, colon: string) =>
    colon === '' ? `$${variableOf(name)}` : `\${${variableOf(name)}}:`,
  )

/** The shell variable for a path variable: `PARENT` for `parent_id`, `RESOURCE` for `uid`. */
function variableOf(name: string): string {
  const leaf = name.split('.').at(-1) ?? ''
  return (leaf.replace(/(?:^|_)u?id$/, '') || 'resource').toUpperCase()
}

function queryOf({ query }: Operation): string {
  const shown = query.filter(({ name, field }) => isRequired(field) || name in shownParameters)
  const pairs = shown.map(
    ({ name, field }) =>
      `${name}=${shownParameters[name] ?? encodeURIComponent(String(scalarExample(field)))}`,
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Optional parameters that the commands contain, with their values. */
const shownParameters: Record<string, string> = {
  'uidp.descendantsOf': '$GROUP',
  pageSize: '20',
  identity: '$IDENTITY',
}

function bodyOf({ body }: Operation): string[] {
  if (!body) return []
  const json = JSON.stringify(bodyExample(body)).replaceAll("'", "'\\''")
  return [`-H 'Content-Type: application/json'`, `-d '${json}'`]
}

function formOf({ body }: Operation): string[] {
  const shown = body?.fields.filter((field: DescField) => field.name in shownParameters) ?? []
  return shown.length === 0 ? [`-d ''`] : shown.map(({ name }) => `-d "${name}=${shownParameters[name]}"`)
}
