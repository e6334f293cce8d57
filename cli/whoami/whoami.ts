// `stemma whoami`.
import type { ComposedInvocation } from '../composed/composed-command.ts'
import { accessTokenOf } from '../connection.ts'
import { readCaller } from './caller.ts'
import { printCaller } from './print-caller.ts'

export async function runWhoami(invocation: ComposedInvocation): Promise<void> {
  const { connection, context, format, screen, runtime } = invocation
  const caller = await readCaller(connection, context.api, await accessTokenOf(context, runtime))
  await printCaller(caller, format, screen)
}
