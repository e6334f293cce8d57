// Runs stemmad on the Node that the launcher has chosen.
import { serverProgram } from './program.mjs'

await import(serverProgram())
