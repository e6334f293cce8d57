// The response to a call that only validates: the resource as it would be. It has no secrets, because they would not
// work, and no `ETag` header, because nothing is stored.
import type { DescField, Message } from '@bufbuild/protobuf'
import { fromBinary } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
import type { Method } from '@stemma/api/method.ts'
import { isValidateOnly } from '@stemma/api/validation.ts'
import type { Reply } from '../wire/reply.ts'
import { messageReply } from '../wire/reply.ts'

export const isValidation = ({ canValidate }: Method, request: Message) =>
  canValidate && isValidateOnly(request)

export function validationReply({ desc: { output } }: Method, reply: Reply): Reply {
  if (output.typeName === EmptySchema.typeName) return reply
  const message: Message = fromBinary(output, reply.bytes())
  clearSecrets(reflect(output, message))
  return { ...messageReply(output, message), warnings: reply.warnings }
}

function clearSecrets(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue
    if (isSecret(field)) message.clear(field)
    else if (field.fieldKind === 'message') clearSecrets(message.get(field))
    else if (field.fieldKind === 'list' && field.listKind === 'message')
      for (const item of message.get(field)) clearSecrets(item as ReflectMessage) // a list of messages
  }
}

const isSecret = ({ proto }: DescField) => proto.options?.debugRedact ?? false
