// Calls that only validate (AIP-163): they run all checks and return the usual response, but change
// nothing.
import type { DescMessage, Message } from '@bufbuild/protobuf'

/** The field of a request that asks for validation only. */
export const validateOnlyField = 'validate_only'

export const hasValidateOnly = ({ fields }: DescMessage): boolean =>
  fields.some(({ name }) => name === validateOnlyField)

/** Whether this request, whose message has the field, asks for validation only. */
export const isValidateOnly = (request: Message): boolean =>
  (request as { validateOnly?: boolean }).validateOnly === true
