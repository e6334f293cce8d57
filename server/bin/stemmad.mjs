#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import { runPinned } from '../../scripts/pinned-node.mjs'
import { nodeFlagsOf } from './node-flags.mjs'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))
const args = process.argv.slice(2)
process.exitCode = await runPinned([...nodeFlagsOf(args[0]), main, ...args])
