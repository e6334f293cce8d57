// `stemma access check`.
import type { ComposedInvocation } from '../composed/composed-command.ts'
import { commandOf } from '../contract/commands.ts'
import { exitCodes } from '../exit-codes.ts'
import { Exit } from '../failure.ts'
import { ageOf } from '../output/cells.ts'
import { toJson, toYaml } from '../output/serialize.ts'
import { readQuestion } from './question.ts'

export async function runCheck(invocation: ComposedInvocation): Promise<void> {
  const { connection, format, screen } = invocation
  const { method } = commandOf('access', 'check')
  const decision = await connection.call(method.desc, await readQuestion(invocation))
  if (format === 'json') await screen.write(`${toJson(decision)}\n`)
  else if (format === 'yaml') await screen.write(await toYaml(decision))
  else await screen.write(`${decision.allowed ? 'yes' : 'no'}${endText(decision.expireTime, invocation)}\n`)
  if (!decision.allowed) throw new Exit(exitCodes.answerIsNo)
}

/** On a terminal the time until the access ends, otherwise the exact time. */
function endText(time: unknown, { screen: { isTerminal, now } }: ComposedInvocation): string {
  if (typeof time !== 'string') return ''
  return isTerminal ? `, expires ${ageOf(time, now)}` : `, until ${time}`
}
