// Preloaded into a server of the benchmark bench/cases/recording.ts: replaces the module that records events by one that
// records nothing.
import { registerHooks } from 'node:module'

const recording = '/server/store/events/record.ts'

const source = `export function* recordEvents() {}
export { recordEvents as recordEvent, recordEvents as recordWithOrigins, recordEvents as recordStored }`

registerHooks({
  load: (url, context, nextLoad) =>
    url.endsWith(recording) ? { format: 'module', source, shortCircuit: true } : nextLoad(url, context),
})
