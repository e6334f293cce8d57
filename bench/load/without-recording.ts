// Preloaded into a server of the benchmark bench/cases/recording.ts: replaces the module that records events by one that
// records nothing.
import { registerHooks } from 'node:module'

const recording = '/server/store/events/record.ts'
const replacement = new URL('no-recording.ts', import.meta.url).href

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    return resolved.url.endsWith(recording) ? { ...resolved, url: replacement } : resolved
  },
})
