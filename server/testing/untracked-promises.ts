// Loaded before each test file (`--import`). The test runner maps every promise to the test that made it, so that an
// error that nobody handles fails this test. That takes 2 µs for each promise, and more in the collection of garbage.
// Without this map, such an error fails the file, not the test, and its stack is printed here.
import asyncHooks, { type HookCallbacks } from 'node:async_hooks'

const { createHook } = asyncHooks
const untracked = (callbacks: HookCallbacks) => createHook({ ...callbacks, trackPromises: false })
Object.assign(asyncHooks, { createHook: untracked })

process.on('unhandledRejection', (reason) => console.error(reason))
process.on('uncaughtExceptionMonitor', (error) => console.error(error))
