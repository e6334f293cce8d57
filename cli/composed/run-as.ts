import type { ComposedInvocation, Run } from './composed-command.ts'

/**
 * Runs a command of the contract under another name. The argument becomes the value of `argumentFlag`, or stays an
 * argument if `argumentFlag` is undefined.
 */
export const runAs =
  (resource: string, verb: string, argumentFlag?: string): Run =>
  ({ args, flags, runResource }: ComposedInvocation) => {
    const flagWords = Object.entries(flags).flatMap(([name, value]) => {
      if (value === undefined) return []
      return value === true ? [`--${name}`] : [`--${name}=${value}`]
    })
    // Values may begin with a dash.
    const argument =
      argumentFlag === undefined ? ['--', ...args] : args.map((text) => `--${argumentFlag}=${text}`)
    return runResource(resource, [verb, ...flagWords, ...argument])
  }
