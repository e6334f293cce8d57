// Loaded before the server (`--import`): prints at the end of the process which packages it has loaded.
import { registerHooks } from 'node:module'

const urls: string[] = []
registerHooks({
  load(url, context, nextLoad) {
    urls.push(url)
    return nextLoad(url, context)
  },
})

process.on('exit', () => {
  const packages = urls.flatMap((url) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [])
  // An undocumented list of the modules of Node that were loaded.
  const { moduleLoadList } = process as unknown as { moduleLoadList: string[] }
  if (moduleLoadList.some((name) => name.endsWith('deps/undici/undici'))) packages.push('undici')
  process.stderr.write(JSON.stringify([...new Set(packages)].sort()))
})
