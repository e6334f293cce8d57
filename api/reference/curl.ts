// An operation as somebody would try it in a shell.
import type { DescField } from '@bufbuild/protobuf'
import { isRequired } from '../method.ts'
import type { Operation } from './operations.ts'
import { bodySample, scalarOf } from './sample.ts'

const base = 'http://localhost:8080'

export function curlOf(operation: Operation): string {
  const { verb, method, body } = operation
  const { access } = method
  const isForm = body?.type === 'application/x-www-form-urlencoded'
  const bearer = access?.open ? (access.credential === '' ? undefined : '$OTHER_TOKEN') : '$TOKEN'
  const parts = [
    `curl${verb === 'GET' || (verb === 'POST' && body) ? '' : ` -X ${verb}`} "${base}${pathOf(operation)}${queryOf(operation)}"`,
    ...(bearer ? [`-H "Authorization: Bearer ${bearer}"`] : []),
    ...(isForm ? formOf(operation) : bodyOf(operation)),
  ]
  return parts.join(' \\\n  ')
}

const pathOf = ({ path }: Operation) => path.replaceAll(/\{([^}]*)\}/g, (_, name: string) => variableOf(name))

/** `$PARENT` of `parent_id`, `$RESOURCE` of a plain uid. */
function variableOf(name: string): string {
  const leaf = name.split('.').at(-1) ?? ''
  return `$${(leaf.replace(/(?:^|_)u?id$/, '') || 'resource').toUpperCase()}`
}

function queryOf({ query }: Operation): string {
  const shown = query.filter(({ name, field }) => isRequired(field) || name in likely)
  const pairs = shown.map(
    ({ name, field }) => `${name}=${likely[name] ?? encodeURIComponent(String(scalarOf(field)))}`,
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** What one often asks for. */
const likely: Record<string, string> = {
  'uidp.descendantsOf': '$GROUP',
  pageSize: '20',
  identity: '$IDENTITY',
}

function bodyOf({ body }: Operation): string[] {
  if (!body) return []
  const sample = JSON.stringify(bodySample(body)).replaceAll("'", "'\\''")
  return [`-H 'Content-Type: application/json'`, `-d '${sample}'`]
}

function formOf({ body }: Operation): string[] {
  const shown = body?.fields.filter((field: DescField) => field.name in likely) ?? []
  return shown.length === 0 ? [`-d ''`] : shown.map(({ name }) => `-d "${name}=${likely[name]}"`)
}
