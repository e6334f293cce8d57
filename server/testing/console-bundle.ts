// The files of the console, for all servers of a process. Bundling them takes a second of CPU time, and a process of
// tests starts many servers.
import type { Bundle } from '../console/load-bundle.ts'
import { loadBundle } from '../console/load-bundle.ts'

let bundle: Promise<Bundle> | undefined

export function bundleOnce(): Promise<Bundle> {
  bundle ??= loadBundle()
  return bundle
}
