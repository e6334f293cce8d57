#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import { runPinned } from '../../scripts/pinned-node.mjs'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))
process.exitCode = await runPinned([main, ...process.argv.slice(2)])
