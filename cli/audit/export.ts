// `stemma audit export`.
import type { ComposedInvocation } from '../composed/composed-command.ts'
import { commandOf } from '../contract/commands.ts'
import { UsageError } from '../failure.ts'
import { requireJson } from '../output/format.ts'
import { createProgress } from '../output/progress.ts'
import { toJson } from '../output/serialize.ts'
import { readFilters } from './filters.ts'

/** Prints one JSON object per line, the oldest entry first. No entry is kept in memory. */
export async function runExport(invocation: ComposedInvocation): Promise<void> {
  const { flags, connection, screen, runtime } = invocation
  requireJson('stemma audit export', flags.output as string | undefined)
  const request = { ...(await readFilters(invocation)), ...formatOf(flags.format as string | undefined) }
  const { stderr, now } = runtime
  const progress = createProgress(!screen.isTerminal && stderr.isTTY === true, stderr, now)
  let count = 0
  try {
    for await (const entry of connection.stream(commandOf('audit', 'export').method.desc, request)) {
      await screen.write(`${toJson(entry, 0)}\n`)
      count += 1
      progress.update(count)
    }
  } finally {
    progress.clear()
  }
}

function formatOf(text: string | undefined): { format?: string } {
  if (text === undefined || text === 'json') return {}
  if (text === 'ecs') return { format: 'AUDIT_FORMAT_ECS' }
  throw new UsageError(`--format must be json or ecs, not ${JSON.stringify(text)}`)
}
