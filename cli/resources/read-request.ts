// Builds the request of a command line: reads files, parses values and resolves names to uids.
import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import type { FieldTexts } from '../command-line.ts'
import { parseDocument } from '../contract/document.ts'
import { parseFlagValue } from '../contract/flag-values.ts'
import type { Document, FieldValue } from '../contract/request.ts'
import { buildRequest, requireEncodable } from '../contract/request.ts'
import type { Flag } from '../contract/request-flags.ts'
import { withArticle } from '../contract/spelling.ts'
import { argumentForm, targetKind } from '../contract/target.ts'
import { Failure, UsageError } from '../failure.ts'
import { resolveTarget, resolveUid } from '../names/resolve.ts'
import type { Runtime } from '../runtime.ts'
import type { Invocation } from './invocation.ts'

/** `target` is the name, uid or id that was given without a flag. */
export async function readRequest(invocation: Invocation, target: string | undefined): Promise<JsonObject> {
  const { command, line, connection, runtime } = invocation
  const { file } = line.options
  const document = file === undefined ? undefined : await readDocument(file, runtime)
  const values = await readFlagValues(invocation)
  if (command.target.length > 0) {
    const text = target ?? uidIn(document?.content)
    if (text === undefined)
      throw new UsageError(
        `${command.resource} ${command.verb} needs the ${argumentForm(command)} of ${withArticle(targetKind(command))}`,
      )
    const value = await resolveTarget(connection, command, text)
    values.push({ path: command.target, value })
  }
  const request = buildRequest(command, values, document)
  requireEncodable(command, request)
  return request
}

/** The parent is resolved first, because other names are searched in the parent before anywhere else. */
async function readFlagValues(invocation: Invocation): Promise<FieldValue[]> {
  const { fields } = invocation.line
  const parent = fields.find(({ flag }) => flag.name === 'parent')
  const ordered = parent ? [parent, ...fields.filter((field) => field !== parent)] : fields
  const values: FieldValue[] = []
  let preferredGroup: string | undefined
  for (const field of ordered) {
    const value = await readFlagValue(field, invocation, preferredGroup)
    if (field === parent && typeof value === 'string') preferredGroup = value
    values.push({ path: field.flag.path, value })
  }
  return values
}

/** A document that `get` printed contains the uid of its resource, so the argument can be omitted. */
const uidIn = (content: JsonObject | undefined): string | undefined =>
  typeof content?.uid === 'string' ? content.uid : undefined

const readFlagValue = (
  { flag, texts }: FieldTexts,
  { connection, runtime }: Invocation,
  preferredGroup?: string,
): Promise<JsonValue> =>
  withFlagName(flag, async () => {
    const contents: string[] = []
    // One after the other, so that a second `@-` finds standard input at its end and is refused.
    for (const text of texts) contents.push(await readContent(text, runtime))
    if (flag.refersTo === undefined) return parseFlagValue(flag.field, contents, runtime.now())
    const uids: string[] = []
    for (const text of contents)
      uids.push(text === '' ? '' : await resolveUid(connection, flag.refersTo, text, preferredGroup))
    return flag.field.fieldKind === 'list' ? uids : (uids.at(-1) ?? '')
  })

/** Adds the name of the flag to errors. */
async function withFlagName<T>({ name }: Flag, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Failure) error.message = `--${name}: ${error.message}`
    throw error
  }
}

/**
 * Reads the file of `@FILE`, and standard input for `@-`, so that secrets need not be on the command line. `@@text`
 * stands for the text `@text`.
 */
async function readContent(text: string, runtime: Runtime): Promise<string> {
  if (!text.startsWith('@')) return text
  if (text.startsWith('@@')) return text.slice(1)
  return (await readText(text.slice(1), runtime)).replace(/\n$/, '')
}

async function readDocument(file: string, runtime: Runtime): Promise<Document> {
  const source = file === '-' ? 'standard input' : file
  return { content: await parseDocument(await readText(file, runtime), source), source }
}

async function readText(file: string, { stdin }: Runtime): Promise<string> {
  if (file !== '-')
    return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(
        `${file} cannot be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`,
      )
    })
  if (stdin.readableEnded) throw new UsageError('standard input (-) can be read only once')
  return readAll(stdin)
}
