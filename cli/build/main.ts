// Writes the bundle of the command line: node cli/build/main.ts FOLDER. A program in FOLDER runs only where it finds
// `yaml`, such as in cli/bundle of a container image.
import { resolve } from 'node:path'
import { bundleCli } from './bundle-cli.ts'

const [, , folder] = process.argv
if (folder === undefined) throw new Error('usage: node cli/build/main.ts FOLDER')
await bundleCli(resolve(folder))
