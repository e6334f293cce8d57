import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import type { Call } from '../../rpc/call.ts'
import type { Warning } from '../../wire/warning.ts'

/**
 * Makes a v2 call for the caller of a v1 call. Authorization, validation and locking therefore exist only in v2.
 * `server/services.ts` implements it.
 */
export type CallV2 = <I extends DescMessage, O extends DescMessage>(
  call: Call,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
) => Promise<V2Reply<O>>

export type V2Reply<O extends DescMessage> = {
  message: MessageShape<O>
  etag: string | undefined
  isReplayed: boolean | undefined
  warnings: readonly Warning[] | undefined
}
