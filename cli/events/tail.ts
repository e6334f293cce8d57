// `stemma events tail`.
import { setTimeout as sleep } from 'node:timers/promises'
import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import type { ComposedInvocation } from '../composed/composed-command.ts'
import { commandOf } from '../contract/commands.ts'
import { exitCodes } from '../exit-codes.ts'
import { Failure, UsageError } from '../failure.ts'
import { resolveUid } from '../names/resolve.ts'
import type { Format } from '../output/format.ts'
import type { Screen } from '../output/screen.ts'
import { toJson, toYaml } from '../output/serialize.ts'
import { report } from '../runtime.ts'
import { singleLine } from '../single-line.ts'
import { follow } from './follow.ts'

export async function runTail(invocation: ComposedInvocation): Promise<void> {
  const { args, flags, repeated, connection, format, screen } = invocation
  const after = parseSequence(flags.after as string | undefined)
  const group = await resolveUid(connection, 'groups', args[0] ?? '')
  const request = { group, follow: !flags.once, ...(after !== undefined && { afterSequence: after }) }
  const types = repeated.type ?? []
  for await (const { event } of responses(invocation, request)) {
    // A response without an event only states the sequence number.
    if (event === undefined) continue
    const { type = '' } = event as JsonObject
    if (types.length === 0 || types.some((start) => String(type).startsWith(start)))
      await printEvent(event as JsonObject, format, screen)
  }
}

function responses({ connection, runtime }: ComposedInvocation, request: JsonObject) {
  const { desc } = commandOf('events', 'tail').method
  if (!request.follow) return existingEvents(connection, desc, request)
  return follow(connection, {
    ...{ method: desc, request, resume },
    async pause(delayMs) {
      report(runtime, `stemma: the stream has ended; trying again in ${Math.round(delayMs / 1000)} s`)
      await sleep(delayMs)
    },
  })
}

const resume = (request: JsonObject, { sequence }: JsonObject): JsonObject => ({
  ...request,
  ...(sequence !== undefined && { afterSequence: sequence }),
})

/**
 * The last response of a complete stream has no event. A stream that ends with an event was ended early, as by a server
 * that stops, and is continued after this event.
 */
async function* existingEvents(
  connection: Connection,
  method: DescMethod,
  request: JsonObject,
): AsyncGenerator<JsonObject, void> {
  for (;;) {
    let last: JsonObject | undefined
    for await (const response of connection.stream(method, request)) {
      yield response
      last = response
    }
    if (last === undefined)
      throw new Failure('the stream has ended before the last event; try again', exitCodes.unavailable)
    if (last.event === undefined) return
    request = resume(request, last)
  }
}

function parseSequence(text: string | undefined): string | undefined {
  if (text === undefined || /^\d{1,18}$/.test(text)) return text
  throw new UsageError(`--after must be a sequence number, not ${JSON.stringify(text)}`)
}

async function printEvent(event: JsonObject, format: Format, screen: Screen): Promise<void> {
  if (format === 'json') return screen.write(`${toJson(event, 0)}\n`)
  if (format === 'yaml') return screen.write(await toYaml([event]))
  if (format === 'uid') return screen.write(`${singleLine(String(event.subject ?? ''))}\n`)
  const { time = '', type = '', subject = '-', actor, data = {} } = event
  const text = (value: unknown) => singleLine(String(value))
  const cells = [text(time), screen.bold(text(type)), text(subject)]
  if (actor !== undefined) cells.push(text(`by ${actor}`))
  if (format === 'wide') cells.push(screen.dim(text(JSON.stringify(data))))
  await screen.write(`${cells.join('  ')}\n`)
}
