// `stemma audit tail`: asks for new entries again and again.
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '@bufbuild/protobuf'
import type { ComposedInvocation } from '../composed/composed-command.ts'
import { commandOf } from '../contract/commands.ts'
import { firstDelayMs, isTransient, nextDelayMs } from '../events/follow.ts'
import { toJson } from '../output/serialize.ts'
import { listPages } from '../resources/list.ts'
import { report } from '../runtime.ts'
import { readFilters } from './filters.ts'
import { openPrinter } from './list.ts'

const intervalMs = 1000
/**
 * An entry has the time of its call and appears when its transaction commits, so entries that are older than the newest
 * one can appear later. Those of a transaction that takes longer than this are missed.
 */
const overlapMs = 10_000

export async function runTail(invocation: ComposedInvocation): Promise<void> {
  const { runtime } = invocation
  const filters = await readFilters(invocation)
  const newest = filters.startTime === undefined ? await timeOfNewest(invocation, filters) : undefined
  const first = newest === undefined ? String(filters.startTime) : overlapBefore(newest)
  const print = printerOf(invocation)
  // Without --since, the first read contains entries that existed before the command. They are not printed.
  const printNewer = newest === undefined ? print : onlyAfter(newest, print)
  const seen = new Map<string, string>()
  let hasRead = false
  let delayMs = firstDelayMs
  for (;;) {
    try {
      const request = { ...filters, startTime: restartTime(seen, first) }
      await printNew(invocation, request, seen, hasRead ? print : printNewer)
      hasRead = true
      delayMs = firstDelayMs
      await sleep(intervalMs)
    } catch (error) {
      // An error before the first answer ends the command, because the address may be wrong.
      const hasAnswered = hasRead || newest !== undefined
      if (!hasAnswered || !isTransient(error)) throw error
      report(runtime, `stemma: the server cannot answer; trying again in ${Math.round(delayMs / 1000)} s`)
      await sleep(delayMs)
      delayMs = nextDelayMs(delayMs)
    }
  }
}

/**
 * The time of the newest entry. The clock of this machine cannot be used: if it were ahead of the clock of the server,
 * entries would be missed.
 */
async function timeOfNewest({ connection }: ComposedInvocation, filters: JsonObject): Promise<string> {
  const { uidp } = filters
  const request = { ...(uidp !== undefined && { uidp }), pageSize: 1 }
  for await (const { rows } of listPages(connection, commandOf('audit', 'list'), request))
    for (const { time } of rows) return String(time)
  return new Date(overlapMs).toISOString()
}

const overlapBefore = (time: string) => new Date(Date.parse(time) - overlapMs).toISOString()

type Print = (row: JsonObject) => Promise<void>

function onlyAfter(time: string, print: Print): Print {
  const latest = Date.parse(time)
  return async (row) => {
    if (Date.parse(String(row.time)) > latest) await print(row)
  }
}

/** JSON is printed without the brackets of a list, which would never be closed. */
function printerOf(invocation: ComposedInvocation): Print {
  const { format, screen } = invocation
  if (format === 'json') return (row) => screen.write(`${toJson(row, 0)}\n`)
  // Shows times: an age would become wrong while its line stays on the terminal.
  const printer = openPrinter(invocation, false)
  return (row) => printer.printPage([row])
}

/** Prints entries that are not in `seen`, which has the uids and times of earlier entries that are read again. */
async function printNew(
  { connection }: ComposedInvocation,
  request: JsonObject,
  seen: Map<string, string>,
  print: Print,
): Promise<void> {
  const pages = listPages(connection, commandOf('audit', 'list'), { ...request, orderBy: 'time' })
  for await (const { rows } of pages)
    for (const row of rows) {
      const uid = String(row.uid)
      if (!seen.has(uid)) await print(row)
      seen.set(uid, String(row.time))
    }
  const oldest = restartTime(seen, '')
  for (const [uid, time] of seen) if (time < oldest) seen.delete(uid)
}

/** Times are ISO 8601 in UTC with milliseconds, so that their order is that of their texts. */
function restartTime(seen: Map<string, string>, first: string): string {
  const newest = [...seen.values()].reduce((a, b) => (a > b ? a : b), '')
  if (newest === '') return first
  const time = overlapBefore(newest)
  return time > first ? time : first
}
