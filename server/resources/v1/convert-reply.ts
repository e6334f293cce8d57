import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import type { Reply } from '../../wire/reply.ts'
import { emptyReply, messageReply } from '../../wire/reply.ts'
import type { V2Reply } from './call-v2.ts'

/** The reply of v1 to a call that v2 answered, with the same entity tag and warnings. */
export async function convertReply<O extends DescMessage, D extends DescMessage>(
  reply: Promise<V2Reply<O>>,
  desc: D,
  convert: (message: MessageShape<O>) => MessageShape<D>,
): Promise<Reply> {
  const { message, etag, isReplayed, warnings } = await reply
  return {
    ...messageReply(desc, convert(message)),
    ...(etag !== undefined && { etag }),
    ...(isReplayed && { isReplayed }),
    ...(warnings && { warnings }),
  }
}

/** The reply of v1 to Delete. */
export async function deleteReply(reply: Promise<unknown>): Promise<Reply> {
  await reply
  return emptyReply
}
