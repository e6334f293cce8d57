// All that a list has, page after page.
import type {
  DescMessage,
  DescMethodUnary,
  Message,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf'
import { clone, create } from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import { Code } from '../gen/google/rpc/code_pb.ts'
import type { UnaryCall } from './client.ts'
import type { CallOptions } from './connection.ts'
import { StemmaError } from './errors.ts'

/** What a page is a page of. */
export type Item<Page> = {
  [K in keyof Page]-?: Page[K] extends (infer E extends Message)[] ? E : never
}[keyof Page]

/** As many as the server gives, so that there are few requests. */
const pageSize = 200

/** One by one, each page when it is needed. `pageSize` is that of a request, not a limit. */
export async function* list<I extends DescMessage, O extends DescMessage>(
  call: UnaryCall<I, O>,
  request: MessageInitShape<I>,
  options?: CallOptions,
): AsyncGenerator<Item<MessageShape<O>>, void> {
  const { input, output }: DescMethodUnary = call.method
  const items = output.fields.find(({ fieldKind }) => fieldKind === 'list')
  if (!items) throw new TypeError(`${call.method.name} is no list`)
  const asked = clone(input, create(input, request))
  const fields = reflect(input, asked)
  const size = input.field.pageSize
  if (size && !fields.isSet(size)) fields.set(size, pageSize)
  for (let token = ''; ; ) {
    const page = (await call(asked as MessageInitShape<I>, options)) as Record<string, unknown>
    // A list of messages, as the type of the items says.
    yield* page[items.localName] as Iterable<Item<MessageShape<O>>>
    const { nextPageToken: next = '' } = page as { nextPageToken?: string }
    if (next === '') return
    if (next === token) throw endless(call.method.name)
    token = next
    // What is skipped counts from where the token points.
    if (input.field.skip) fields.clear(input.field.skip)
    if (input.field.pageToken) fields.set(input.field.pageToken, token)
  }
}

const endless = (name: string) =>
  new StemmaError(Code.INTERNAL, `Internal: ${name} answers with the page token that it was asked with`)
