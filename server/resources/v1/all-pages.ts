// A v1 list returns all items in one reply: every page of the v2 list, each rendered as soon as it arrives, so that
// memory holds little more than the reply itself.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type {
  DescField,
  DescMessage,
  DescMethodUnary,
  Message,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf'
import { toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { deadlineExceeded, tooLarge } from '../../aip/errors.ts'
import type { Call } from '../../rpc/call.ts'
import { writeJson } from '../../wire/json-writer.ts'
import type { Reply } from '../../wire/reply.ts'
import { asJson } from '../../wire/reply.ts'
import type { V1Dependencies } from './dependencies.ts'

/** The largest page that v2 lists return. */
const pageSize = 200
const maxItems = 1_000_000
/** The largest message that published clients accept. */
const maxBytes = 100 * 1024 * 1024

export type V1List<I extends DescMessage, O extends DescMessage, L extends DescMessage> = {
  /** The v2 list and its request. */
  method: DescMethodUnary<I, O>
  request: MessageInitShape<I>
  /** The v1 response, whose field `items` contains the result. */
  list: L
  /** Converts a page of v2 to items of v1. */
  items(page: MessageShape<O>): Message[] | Promise<Message[]>
}

export async function listAllPages<I extends DescMessage, O extends DescMessage, L extends DescMessage>(
  { callV2, deadlineClock }: Pick<V1Dependencies, 'callV2' | 'deadlineClock'>,
  call: Call,
  { method, request, list, items }: V1List<I, O, L>,
): Promise<Reply> {
  const collected = collectItems(list, call.form)
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    if (deadlineClock() > call.deadline) throw deadlineExceeded()
    // The request of every v2 list has both fields.
    const paging = { pageSize, pageToken } as unknown as MessageInitShape<I>
    const { message } = await callV2(call, method, { ...request, ...paging })
    for (const item of await items(message)) collected.add(item)
    pageToken = (message as { nextPageToken?: string }).nextPageToken || undefined
    // The embedded store answers synchronously: let other calls run between two pages.
    if (pageToken !== undefined) await nextTurn()
  }
  return collected.reply()
}

/** Renders items in the form that the door will send. */
function collectItems(list: DescMessage, form: Call['form']) {
  const { field, message } = itemsField(list)
  const rendered: (string | Uint8Array)[] = []
  let bytes = 0
  return {
    add(item: Message) {
      const part = form === 'json' ? writeJson(message, item) : toBinary(message, item)
      bytes += typeof part === 'string' ? Buffer.byteLength(part) : part.length
      if (bytes > maxBytes || rendered.push(part) > maxItems)
        throw tooLarge('the list is too long for one response; narrow it, or use the paged list of v2', 429)
    },
    reply: (): Reply => ({
      json: () => asJson(`{${JSON.stringify(field.jsonName)}:[${rendered.join(',')}]}`),
      bytes() {
        const writer = new BinaryWriter()
        // A door asks only for the form of the call, so all items are bytes.
        for (const item of rendered as Uint8Array[])
          writer.tag(field.number, WireType.LengthDelimited).bytes(item)
        return writer.finish()
      },
    }),
  }
}

function itemsField(list: DescMessage): { field: DescField; message: DescMessage } {
  const field = list.fields.find(({ name }) => name === 'items')
  if (field?.fieldKind !== 'list' || !field.message)
    throw new Error(`${list.typeName} has no list field items`)
  return { field, message: field.message }
}
