import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { toBinary } from '@bufbuild/protobuf'
import { writeJson } from './json-writer.ts'
import type { Reply } from './passage.ts'
import { asJson } from './passage.ts'

/** An answer that is made for the call, rather than read from a row. */
export const messageReply = <D extends DescMessage>(desc: D, message: MessageShape<D>): Reply => ({
  json: () => asJson(writeJson(desc, message)),
  bytes: () => toBinary(desc, message),
})
