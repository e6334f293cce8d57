// `stemma access explain`.
import type { ComposedInvocation } from '../composed/composed-command.ts'
import { commandOf } from '../contract/commands.ts'
import { toJson, toYaml } from '../output/serialize.ts'
import type { Explanation } from './explanation-lines.ts'
import { explanationLines } from './explanation-lines.ts'
import { readQuestion } from './question.ts'

export async function runExplain(invocation: ComposedInvocation): Promise<void> {
  const { args, flags, connection, format, screen } = invocation
  const { method } = commandOf('access', 'explain')
  const answer = await connection.call(method.desc, await readQuestion(invocation))
  if (format === 'json') return screen.write(`${toJson(answer)}\n`)
  if (format === 'yaml') return screen.write(await toYaml(answer))
  const [action = '', resource = ''] = args
  const question = { who: flags.identity as string | undefined, action, resource }
  // According to the contract, the response is an explanation.
  const lines = explanationLines(answer as unknown as Explanation, question, format === 'wide', screen)
  await screen.write(lines.map((line) => `${line}\n`).join(''))
}
