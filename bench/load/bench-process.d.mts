/** CPU time in seconds and resident memory in bytes. */
export type Usage = { cpu: number; memory: number }

/** Delays of the event loop since the previous `loop-delay` message, in milliseconds. */
export type LoopDelay = { p50: number; p99: number; max: number }

/** Answers each command with the result of `run`, and keeps the process alive. */
export function onCommand<T>(run: (command: T) => unknown): void
