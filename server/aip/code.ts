// The codes of google.rpc.Code, each with its name, the prefix of its error messages, and its HTTP status.
import { Code } from '@stemma/api/gen/google/rpc/code_pb.ts'

export { Code }

type CodeInfo = { name: string; prefix: string; http: number }

const codes: { readonly [code: number]: CodeInfo } = {
  [Code.OK]: { name: 'OK', prefix: 'OK', http: 200 },
  [Code.CANCELLED]: { name: 'CANCELLED', prefix: 'Cancelled', http: 499 },
  [Code.INVALID_ARGUMENT]: { name: 'INVALID_ARGUMENT', prefix: 'Invalid argument', http: 400 },
  [Code.DEADLINE_EXCEEDED]: { name: 'DEADLINE_EXCEEDED', prefix: 'Deadline exceeded', http: 504 },
  [Code.NOT_FOUND]: { name: 'NOT_FOUND', prefix: 'Not found', http: 404 },
  [Code.ALREADY_EXISTS]: { name: 'ALREADY_EXISTS', prefix: 'Already exists', http: 409 },
  [Code.PERMISSION_DENIED]: { name: 'PERMISSION_DENIED', prefix: 'Permission denied', http: 403 },
  [Code.UNAUTHENTICATED]: { name: 'UNAUTHENTICATED', prefix: 'Unauthenticated', http: 401 },
  [Code.RESOURCE_EXHAUSTED]: { name: 'RESOURCE_EXHAUSTED', prefix: 'Resource exhausted', http: 429 },
  [Code.FAILED_PRECONDITION]: { name: 'FAILED_PRECONDITION', prefix: 'Precondition failed', http: 400 },
  [Code.ABORTED]: { name: 'ABORTED', prefix: 'Aborted', http: 409 },
  [Code.OUT_OF_RANGE]: { name: 'OUT_OF_RANGE', prefix: 'Out of range', http: 400 },
  [Code.UNIMPLEMENTED]: { name: 'UNIMPLEMENTED', prefix: 'Unimplemented', http: 501 },
  [Code.INTERNAL]: { name: 'INTERNAL', prefix: 'Internal', http: 500 },
  [Code.UNAVAILABLE]: { name: 'UNAVAILABLE', prefix: 'Unavailable', http: 503 },
  [Code.DATA_LOSS]: { name: 'DATA_LOSS', prefix: 'Data loss', http: 500 },
}

const unknown: CodeInfo = { name: 'UNKNOWN', prefix: 'Unknown', http: 500 }
const infoOf = (code: Code) => codes[code] ?? unknown

export const codeName = (code: Code) => infoOf(code).name
export const codePrefix = (code: Code) => infoOf(code).prefix
export const httpStatus = (code: Code) => infoOf(code).http
