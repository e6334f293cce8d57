// Loaded before the tests of each process (`--import`). Stops the test runner from mapping every promise to the test
// that made it, which takes 2 µs for each promise, and more in garbage collection. The runner uses the map to fail the
// test that an unhandled error comes from. Without the map, such an error fails the process, not the test, and its
// stack is printed here.
import asyncHooks, { type HookCallbacks } from 'node:async_hooks'

const { createHook } = asyncHooks
const untracked = (callbacks: HookCallbacks) => createHook({ ...callbacks, trackPromises: false })
Object.assign(asyncHooks, { createHook: untracked })

process.on('unhandledRejection', (reason) => console.error(reason))
process.on('uncaughtExceptionMonitor', (error) => console.error(error))
