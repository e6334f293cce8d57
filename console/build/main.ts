// Writes the bundle to a folder: node console/build/main.ts FOLDER.
import { bundleConsole } from './build.ts'
import { writeBundle } from './bundle-folder.ts'

const [, , folder] = process.argv
if (folder === undefined) throw new Error('usage: node console/build/main.ts FOLDER')
writeBundle(folder, await bundleConsole())
