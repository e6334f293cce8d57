import { exitCodes } from './exit-codes.ts'

/** An error that is reported without a stack. `details` are further lines below the message. */
export class Failure extends Error {
  readonly exitCode: number
  readonly details: string[]

  constructor(message: string, exitCode: number = exitCodes.failed, details: string[] = []) {
    super(message)
    this.exitCode = exitCode
    this.details = details
  }
}

/** The command line or its input is wrong. */
export class UsageError extends Failure {
  constructor(message: string, details: string[] = []) {
    super(message, exitCodes.usage, details)
  }
}

/** There is no token, or the server rejects it. */
export class NotSignedIn extends Failure {
  constructor(message: string, details: string[] = []) {
    super(message, exitCodes.notSignedIn, details)
  }
}

/** Ends the program with an exit code that is an answer and not an error, so nothing is reported. */
export class Exit extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`exit code ${exitCode}`)
    this.exitCode = exitCode
  }
}
