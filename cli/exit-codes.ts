import { Code } from '@stemma/api/gen/google/rpc/code_pb.ts'

export const exitCodes = {
  success: 0,
  failed: 1,
  usage: 2,
  notSignedIn: 3,
  denied: 4,
  notFound: 5,
  conflict: 6,
  unavailable: 7,
  answerIsNo: 8,
} as const

const byCode: Partial<Record<Code, number>> = {
  [Code.INVALID_ARGUMENT]: exitCodes.usage,
  [Code.OUT_OF_RANGE]: exitCodes.usage,
  [Code.UNAUTHENTICATED]: exitCodes.notSignedIn,
  [Code.PERMISSION_DENIED]: exitCodes.denied,
  [Code.NOT_FOUND]: exitCodes.notFound,
  [Code.ALREADY_EXISTS]: exitCodes.conflict,
  [Code.FAILED_PRECONDITION]: exitCodes.conflict,
  [Code.ABORTED]: exitCodes.conflict,
  [Code.UNAVAILABLE]: exitCodes.unavailable,
  [Code.DEADLINE_EXCEEDED]: exitCodes.unavailable,
  [Code.RESOURCE_EXHAUSTED]: exitCodes.unavailable,
}

export const exitCodeOf = (code: number): number => byCode[code as Code] ?? exitCodes.failed

export const exitCodesHelp = `Exit codes:

  0    Success.
  1    Any other error, such as an internal error of the server or a full disk.
  2    Wrong usage: an unknown flag, an invalid value, or a name that matches several resources.
  3    Not signed in. Run stemma auth login.
  4    Permission denied.
  5    Not found.
  6    Conflict: the resource exists already, is in use, or was changed in the meantime.
  7    The server cannot be reached, is busy, or took too long, or a resource limit is reached.
  8    The answer of stemma access check is no.
  130  Interrupted with Ctrl-C.

Examples of scripts:

  stemma groups get acme/platform >/dev/null 2>&1 || case $? in
    5) stemma groups create --parent acme --name platform ;;
    *) exit 1 ;;
  esac

  if stemma access check repo.create acme/platform >/dev/null; then
    stemma repos create --parent acme/platform --name app
  elif [ $? != 8 ]; then
    exit 1
  fi`
