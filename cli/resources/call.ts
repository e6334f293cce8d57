import type { JsonObject } from '@bufbuild/protobuf'
import { printedMessageOf, rowsField } from '../contract/commands.ts'
import { kebab, spaced } from '../contract/spelling.ts'
import { UsageError } from '../failure.ts'
import { parseFormat } from '../output/format.ts'
import { createPrinter, printResource } from '../output/printer.ts'
import { report } from '../runtime.ts'
import type { Invocation } from './invocation.ts'
import { readRequest } from './read-request.ts'
import { nothingChanged, validatesOnly } from './validation.ts'

/** Makes a call and prints the response. `get` with several arguments makes one call for each. */
export async function runCall(invocation: Invocation): Promise<void> {
  const { command, line, connection, screen, runtime } = invocation
  const { positionals, options } = line
  const isDocument = command.method.desc.output.typeName === 'google.protobuf.Struct'
  const format = parseFormat(options.output, isDocument ? 'json' : 'table')
  const message = printedMessageOf(command)
  // Checked before the call, because its response may contain a secret that is shown only once.
  if (format === 'uid' && !message.fields.some(({ name }) => name === 'uid'))
    throw new UsageError(
      `the response of stemma ${command.resource} ${command.verb} has no uid; use another --output, such as json`,
    )
  const callFor = async (target?: string) =>
    connection.call(command.method.desc, await readRequest(invocation, target))
  const printer = createPrinter(format, message, screen)
  if (positionals.length > 1) {
    for (const target of positionals) await printer.printPage([await callFor(target)])
    return printer.end()
  }
  const response = await callFor(positionals[0])
  if (validatesOnly(line)) report(runtime, nothingChanged)
  else if (message.fields.length === 0) report(runtime, 'Done.')
  const field = rowsField(command)
  const rows = response[field]
  if (!Array.isArray(rows)) return printResource(format, message, response, screen)
  await printer.printPage(rows as JsonObject[])
  await printer.end()
  if (rows.length === 0) report(runtime, `No ${spaced(kebab(field))}.`)
}
