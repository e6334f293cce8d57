// Events that have no transaction of their own, such as pulls. They are collected in memory and inserted in batches, so
// that a call runs no SQL to record one.
import type { EventQueue, EventQueueOptions } from './event-queue.ts'
import { openEventQueue } from './event-queue.ts'

/** The function passed to `add` stays in memory until its event is inserted, so it should refer to little data. */
export type EventBuffer = EventQueue

export type EventBufferOptions = Pick<EventQueueOptions, 'store' | 'onError' | 'onLost' | 'retryMs'> &
  Partial<Pick<EventQueueOptions, 'delayMs' | 'capacity'>>

/**
 * With the delay, this bounds how many events a thread inserts in a second: about 500. Inserting and sealing one takes
 * 40 µs of CPU time, so a thread spends at most 2 % of its time on them. Longer bursts wait in memory.
 */
const batchSize = 128

export const openEventBuffer = ({
  delayMs = 250,
  capacity = 2048,
  ...options
}: EventBufferOptions): EventBuffer =>
  openEventQueue({ ...options, delayMs, capacity, batchSize, batchesPerTurn: 1 })
