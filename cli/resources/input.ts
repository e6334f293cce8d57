// What a command line says, made into a request: documents and texts are read, and names become uids.
import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import type { Line } from '../arguments.ts'
import type { Command } from '../contract/commands.ts'
import { readDocument } from '../contract/document.ts'
import type { Flag } from '../contract/flags.ts'
import type { Given } from '../contract/request.ts'
import { requestOf, requireSendable } from '../contract/request.ts'
import { singular } from '../contract/spelling.ts'
import { jsonOf } from '../contract/values.ts'
import { uidOf } from '../names/resolve.ts'
import { Failure, UsageError } from '../usage.ts'

/** `target` is what the command is about, where it is about one resource. */
export async function readRequest(
  command: Command,
  { fields, globals }: Line,
  target: string | undefined,
  connection: Connection,
): Promise<JsonObject> {
  const document = globals.file === undefined ? undefined : await openDocument(globals.file)
  const given: Given[] = []
  const parent = fields.find(({ flag }) => flag.name === 'parent')
  let near: string | undefined
  // The parent first: names that follow mean what lies in it before they mean what lies elsewhere.
  for (const field of parent ? [parent, ...fields.filter((one) => one !== parent)] : fields) {
    const value = await flagValue(field, connection, near)
    if (field === parent && typeof value === 'string') near = value
    given.push({ path: field.flag.path, value })
  }
  const uid = target ?? uidIn(document?.content)
  if (command.target.length > 0) {
    if (uid === undefined) throw new UsageError(`say which ${singular(command.resource)}, by name or by uid`)
    given.push({ path: command.target, value: await uidOf(connection, meant(command), uid) })
  }
  const request = requestOf(command, given, document)
  requireSendable(command, request)
  return request
}

/** What `get` printed says itself what it is about. */
const uidIn = (content: JsonObject | undefined): string | undefined =>
  typeof content?.uid === 'string' ? content.uid : undefined

/** The resource that a command is about; access is asked for in groups, whatever the command belongs to. */
export const meant = ({ resource, target }: Command): string =>
  target.at(-1)?.name === 'group_uid' ? 'groups' : resource

async function flagValue(
  { flag, texts }: Line['fields'][number],
  connection: Connection,
  near?: string,
): Promise<JsonValue> {
  return withFlag(flag, async () => {
    const read = await Promise.all(texts.map(contentOf))
    if (flag.refersTo === undefined) return jsonOf(flag.field, read, Date.now())
    const uids: string[] = []
    for (const text of read) uids.push(text === '' ? '' : await uidOf(connection, flag.refersTo, text, near))
    return flag.field.fieldKind === 'list' ? uids : (uids.at(-1) ?? '')
  })
}

/** A complaint says which flag it is about. */
async function withFlag<T>({ name }: Flag, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof Failure) error.message = `--${name}: ${error.message}`
    throw error
  }
}

/** `@FILE` and `@-` are read, so that secrets and long texts need not stand on the command line; `@@` is an `@`. */
async function contentOf(text: string): Promise<string> {
  if (!text.startsWith('@')) return text
  return text.startsWith('@@') ? text.slice(1) : (await readText(text.slice(1))).replace(/\n$/, '')
}

async function openDocument(file: string): Promise<{ content: JsonObject; from: string }> {
  const from = file === '-' ? 'standard input' : file
  return { content: readDocument(await readText(file), from), from }
}

const readText = (file: string): Promise<string> =>
  file === '-'
    ? readAll(process.stdin)
    : readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
        throw new UsageError(
          `${file} cannot be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`,
        )
      })
