// What a script learns from how `stemma` ends.
import { Code } from '@stemma/api/gen/google/rpc/code_pb.ts'

export const exitCodes = {
  done: 0,
  refused: 1,
  usage: 2,
  notSignedIn: 3,
  denied: 4,
  notFound: 5,
  conflict: 6,
  unavailable: 7,
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

export const exitCodeOf = (code: number): number => byCode[code as Code] ?? exitCodes.refused

export const exitCodesHelp = `How stemma ends:

  0    done
  1    something went wrong that has no code of its own: a fault of the server, a full disk
  2    wrong usage: an unknown flag, a value that the server does not take, a name that means several
  3    not signed in, or no longer: stemma auth login
  4    signed in, but not allowed to
  5    there is no such thing
  6    it is there already, still in use, or was changed in the meantime
  7    the server cannot be reached, is busy, or broke off: try again later
  130  ended with Ctrl-C

In a script:

  stemma groups get acme/platform >/dev/null 2>&1 || case $? in
    5) stemma groups create --parent acme --name platform ;;
    *) exit 1 ;;
  esac`
