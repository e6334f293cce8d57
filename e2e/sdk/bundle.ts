// Bundles the installed packages for browsers.
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** A module that imports the client and one service from an entry point of the SDK. */
export const importOneService = (entry: string) => `
  import { createClient, list } from '${entry}'
  import { GroupsService } from '${entry}/platform/iam/v2beta1/group'
  Object.assign(globalThis, { createClient, list, GroupsService })`

/** `contents` is a module that is bundled as if it were in the folder. All sizes are in kB. */
export async function bundle(contents: string, folder: string) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: folder },
    ...{ bundle: true, minify: true, write: false, metafile: true, logLevel: 'silent' },
    ...{ format: 'esm', platform: 'browser', target: 'es2022' },
  })
  const { contents: bytes, text } = outputFiles[0] as (typeof outputFiles)[0]
  const inputs = Object.entries(Object.values(metafile.outputs)[0]?.inputs ?? {})
  const kilobytes = (count: number) => Math.round(count / 100) / 10
  const sizeOf = (place: RegExp) => {
    const matching = inputs.filter(([path]) => place.test(path))
    return kilobytes(matching.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0))
  }
  return {
    text,
    client: sizeOf(/@stemma\/api\/(?!gen\/)/),
    protobufRuntime: sizeOf(/@bufbuild/),
    minified: kilobytes(bytes.length),
    zipped: kilobytes(gzipSync(bytes, { level: 9 }).length),
  }
}
