// The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header).
import type { StatusError } from './errors.ts'
import { invalidField } from './errors.ts'

const maxLength = 255

/** A String of RFC 9651, section 3.3.3: printable ASCII in quotes, with a backslash before quotes and backslashes. */
const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

/** The characters of a key without quotes, as many clients send it. */
const unquoted = /^[\w.~:/+=@-]+$/

/** The key in the header, or the error if it is malformed. The error does not contain the key. */
export function parseIdempotencyKey(header: string): string | StatusError {
  // The length is checked first, so that the patterns never see a long text. Every character may be escaped.
  const text = header.length > 2 * maxLength + 2 ? '' : header
  const key = quoted.exec(text)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? (unquoted.test(text) ? text : '')
  if (key === '' || key.length > maxLength)
    return invalidField(
      'Idempotency-Key',
      `must be one text of 1 to ${maxLength} printable ASCII characters in double quotes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324"; the quotes may be left out if it contains only letters, digits and . _ ~ : / + = @ -`,
    )
  return key
}
