import { Code } from '../../aip/code.ts'
import { StatusError, withoutDetails } from '../../aip/errors.ts'
import type { Handler } from '../../rpc/call.ts'

/** v1 describes a failed precondition only in the message; v2 also in the error details. */
export const withoutPreconditionDetails =
  (handler: Handler): Handler =>
  async (call) => {
    try {
      return await handler(call)
    } catch (error) {
      const isBlocked = error instanceof StatusError && error.code === Code.FAILED_PRECONDITION
      throw isBlocked ? withoutDetails(error) : error
    }
  }
