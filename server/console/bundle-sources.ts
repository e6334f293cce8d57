// Bundles the console from its sources. Not in packages, which contain the bundle and not the sources.
export { bundleConsole } from '@stemma/console/build/build.ts'
