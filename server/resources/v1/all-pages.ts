// A v1 list returns all items in one reply: every page of the v2 list. Over REST, each page is read when the client has
// received the previous one. A gRPC message starts with its length, so all pages are collected first, within a budget.
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
const maxPageSize = 200
/**
 * The approximate number of characters of a page that is sent on its own. It is small because a
 * page is in memory until its client has read it. At up to two bytes per character, a page stays
 * below 128 KB: V8 moves larger objects into the old generation if they outlive one collection.
 */
const charsPerPart = 48 * 1024
const maxItems = 1_000_000
/** How long it may take to send a whole list. */
const maxSendMs = 3_600_000
/** How long it may take to read one page of a list that is being sent. */
const maxPageMs = 60_000
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

type ListDependencies = Pick<V1Dependencies, 'callV2' | 'deadlineClock' | 'waitForTurn' | 'unsent'>

/** A list of one page is one reply. A longer one is sent page by page over REST, and collected for gRPC. */
export async function listAllPages<I extends DescMessage, O extends DescMessage, L extends DescMessage>(
  deps: ListDependencies,
  call: Call,
  v1List: V1List<I, O, L>,
): Promise<Reply> {
  const paging: Paging = { size: maxPageSize }
  const first = await readPage(deps, call, v1List, paging, '')
  if (first.total > maxItems) throw tooLong()
  const pages = openPages(deps, call, v1List, paging, first)
  if (call.form === 'json' && first.nextPageToken !== undefined)
    return replyInParts(v1List.list, pages, paging)
  return collect(deps, call, v1List.list, pages)
}

/** How many items the next page has. */
type Paging = { size: number }

type Page = { items: Message[]; nextPageToken: string | undefined; total: number }

async function readPage<I extends DescMessage, O extends DescMessage, L extends DescMessage>(
  { callV2, deadlineClock }: ListDependencies,
  call: Call,
  { method, request, items }: V1List<I, O, L>,
  { size: pageSize }: Paging,
  pageToken: string,
): Promise<Page> {
  if (deadlineClock() > call.deadline) throw deadlineExceeded()
  // The request of every v2 list has both fields.
  const pageRequest = { pageSize, pageToken } as unknown as MessageInitShape<I>
  const { message } = await callV2(call, method, { ...request, ...pageRequest })
  const { nextPageToken, totalCount = 0n } = message as { nextPageToken?: string; totalCount?: bigint } // in every v2 list
  return {
    items: await items(message),
    nextPageToken: nextPageToken || undefined,
    total: Number(totalCount),
  }
}

type Pages = {
  /**
   * Resolves when the next page may be read. Other calls run meanwhile, even on the embedded store,
   * which answers synchronously.
   */
  wait(): Promise<void>
  /** Returns the items of the next page, and undefined after the last one. It does not keep them in memory. */
  next(): Promise<Message[] | undefined>
}

/** Starts with the first page, which is already read. */
function openPages<I extends DescMessage, O extends DescMessage, L extends DescMessage>(
  deps: ListDependencies,
  call: Call,
  v1List: V1List<I, O, L>,
  paging: Paging,
  first: Page,
): Pages {
  // A client can take long to receive a list that is sent page by page, so each page has its own deadline.
  const isSentByPage = call.form === 'json'
  const sendDeadline = deps.deadlineClock() + maxSendMs
  let { nextPageToken } = first
  let firstItems: Message[] | undefined = first.items
  return {
    async wait() {
      if (nextPageToken !== undefined) await deps.waitForTurn(call.demand.caller.identity)
    },
    async next() {
      if (firstItems) {
        const items = firstItems
        firstItems = undefined
        return items
      }
      if (nextPageToken === undefined) return undefined
      const deadline = isSentByPage ? Math.min(sendDeadline, deps.deadlineClock() + maxPageMs) : call.deadline
      const page = await readPage(deps, { ...call, deadline }, v1List, paging, nextPageToken)
      nextPageToken = page.nextPageToken
      return page.items
    },
  }
}

function replyInParts(list: DescMessage, pages: Pages, paging: Paging): Reply {
  const { field, message } = itemsField(list)
  let prefix = `{${JSON.stringify(field.jsonName)}:[`
  let isComplete = false
  const unused = () => {
    throw new Error('this reply is sent in parts')
  }
  async function next(): Promise<string | undefined> {
    if (isComplete) return undefined
    const items = await pages.next()
    if (!items) {
      isComplete = true
      return prefix === ',' ? ']}' : `${prefix}]}`
    }
    if (items.length === 0) return ''
    const [first = '', ...rest] = items.map((item) => writeJson(message, item))
    const part = [prefix + first, ...rest].join(',')
    prefix = ','
    const size = Math.floor((items.length * charsPerPart) / part.length)
    paging.size = Math.max(1, Math.min(maxPageSize, size))
    return part
  }
  return { json: unused, bytes: unused, parts: () => ({ wait: pages.wait, next, end() {} }) }
}

async function collect(
  { unsent }: ListDependencies,
  { form, demand, address }: Call,
  list: DescMessage,
  pages: Pages,
): Promise<Reply> {
  const collected = collectItems(list, form)
  const client = { identity: demand.caller.identity, address }
  const releases: (() => void)[] = []
  try {
    for (let items = await pages.next(); items; items = await pages.next()) {
      const before = collected.size()
      for (const item of items) collected.add(item)
      releases.push(unsent.reserve(client, collected.size() - before))
      await pages.wait()
    }
    return collected.reply()
  } finally {
    // The corridor reserves the bytes of the complete reply.
    for (const release of releases) release()
  }
}

/** Renders items in the form that the door will send. */
function collectItems(list: DescMessage, form: Call['form']) {
  const { field, message } = itemsField(list)
  const rendered: (string | Uint8Array)[] = []
  let bytes = 0
  return {
    size: () => bytes,
    add(item: Message) {
      const part = form === 'json' ? writeJson(message, item) : toBinary(message, item)
      bytes += typeof part === 'string' ? Buffer.byteLength(part) : part.length
      if (bytes > maxBytes || rendered.push(part) > maxItems) throw tooLong()
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

const tooLong = () =>
  tooLarge('the list is too long for one response; narrow it, or use the paged list of v2', 429)

function itemsField(list: DescMessage): { field: DescField; message: DescMessage } {
  const field = list.fields.find(({ name }) => name === 'items')
  if (field?.fieldKind !== 'list' || !field.message)
    throw new Error(`${list.typeName} has no list field items`)
  return { field, message: field.message }
}
