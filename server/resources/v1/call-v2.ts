// Calls of v1 are answered by calls of v2: those know who may do what, what is valid and what is locked.
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import type { Call } from '../../rpc/call.ts'

/** Makes a call of v2 for the caller of one of v1, who is known already; `server/services.ts` hands it in. */
export type Ask = <I extends DescMessage, O extends DescMessage>(
  call: Call,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
) => Promise<Told<O>>

/** What v2 answered. */
export type Told<O extends DescMessage> = { message: MessageShape<O>; etag: string | undefined }
