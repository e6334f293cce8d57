import { unauthenticated } from '../../aip/errors.ts'

/** The error for an access token that is not valid, with the challenge of RFC 6750, section 3. */
export const invalidToken = (text: string) =>
  unauthenticated(text, `error="invalid_token", error_description="${text}"`)
