// Lists of v1 hold every match in one answer: all pages of the list of v2, each converted as it comes, so that
// nothing larger than the answer itself is kept. What the caller may not see, or is not there, matches nothing.
import { setImmediate as turn } from 'node:timers/promises'
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
import type { Ask } from './call-v2.ts'

const pageSize = 200
const mostItems = 1_000_000
/** Clients take no larger message. */
const mostBytes = 100 * 1024 * 1024

export type Every<I extends DescMessage, O extends DescMessage, L extends DescMessage> = {
  /** The list of v2, and what to ask of it. */
  method: DescMethodUnary<I, O>
  request: MessageInitShape<I>
  /** The list of v1, whose `items` they become. */
  list: L
  items(page: MessageShape<O>): Message[] | Promise<Message[]>
}

export async function listEvery<I extends DescMessage, O extends DescMessage, L extends DescMessage>(
  ask: Ask,
  call: Call,
  { method, request, list, items }: Every<I, O, L>,
): Promise<Reply> {
  const answer = openAnswer(list, call.form)
  for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
    if (Date.now() > call.deadline) throw deadlineExceeded()
    // Every list of v2 has both.
    const paging = { pageSize, pageToken } as unknown as MessageInitShape<I>
    const { message } = await ask(call, method, { ...request, ...paging })
    for (const item of await items(message)) answer.add(item)
    pageToken = (message as { nextPageToken?: string }).nextPageToken || undefined
    // The embedded store answers without waiting, and others want their turn.
    if (pageToken !== undefined) await turn()
  }
  return answer.reply()
}

/** The items in the form of the door that asked. */
function openAnswer(list: DescMessage, form: Call['form']) {
  const { field, message } = itemsOf(list)
  const parts: (string | Uint8Array)[] = []
  let size = 0
  return {
    add(item: Message) {
      const part = form === 'json' ? writeJson(message, item) : toBinary(message, item)
      size += typeof part === 'string' ? Buffer.byteLength(part) : part.length
      if (size > mostBytes || parts.push(part) > mostItems)
        throw tooLarge('the list is too long for one answer; narrow it, or page through the list of v2', 429)
    },
    reply: (): Reply => ({
      json: () => asJson(`{${JSON.stringify(field.jsonName)}:[${parts.join(',')}]}`),
      bytes() {
        const writer = new BinaryWriter()
        // All are bytes, as the form was.
        for (const part of parts as Uint8Array[])
          writer.tag(field.number, WireType.LengthDelimited).bytes(part)
        return writer.finish()
      },
    }),
  }
}

function itemsOf(list: DescMessage): { field: DescField; message: DescMessage } {
  const field = list.fields.find(({ name }) => name === 'items')
  if (field?.fieldKind !== 'list' || !field.message) throw new Error(`${list.typeName} holds no items`)
  return { field, message: field.message }
}
