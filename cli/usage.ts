import { exitCodes } from './exit-codes.ts'

/** What ends a command in words, without a stack: with the code it exits with, and lines that say more. */
export class Failure extends Error {
  readonly exitCode: number
  readonly more: string[]

  constructor(message: string, exitCode: number, more: string[] = []) {
    super(message)
    this.exitCode = exitCode
    this.more = more
  }
}

/** Something the user can mend. */
export class UsageError extends Failure {
  constructor(message: string, more: string[] = []) {
    super(message, exitCodes.usage, more)
  }
}

/** There is no token, or none that still works. */
export class NotSignedIn extends Failure {
  constructor(message: string) {
    super(message, exitCodes.notSignedIn)
  }
}

/** The server said no, or nothing. */
export class Refused extends Failure {
  constructor(message: string, exitCode: number = exitCodes.refused, more: string[] = []) {
    super(message, exitCode, more)
  }
}
