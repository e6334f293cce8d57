// `stemma access who-can`.
import type { ComposedInvocation } from '../composed/composed-command.ts'
import { runAs } from '../composed/run-as.ts'
import { requiredCapability, resolveResource } from './question.ts'

export async function runWhoCan(invocation: ComposedInvocation): Promise<void> {
  const { args, flags, connection } = invocation
  const [action = '', resource = ''] = args
  const { kind, ...listFlags } = flags
  const capability = requiredCapability(action)
  const uid = await resolveResource(connection, resource, kind as string | undefined)
  await runAs('access', 'list')({ ...invocation, args: [uid], flags: { ...listFlags, capability } })
}
