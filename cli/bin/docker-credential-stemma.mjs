#!/usr/bin/env node
import { startPinned } from '../../scripts/pinned-node.mjs'

await startPinned(new URL('../credential-helper/main.ts', import.meta.url))
