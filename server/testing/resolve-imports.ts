// Loaded before each test file (`--import`), so that the test file loads the server as fast as `stemmad` does.
import { resolveQuickly } from '../resolve-imports.ts'

resolveQuickly(new URL('../..', import.meta.url).href)
