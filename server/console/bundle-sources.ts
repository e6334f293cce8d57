// Bundles the console from its sources. Published packages lack this file: they contain the bundle, not the sources.
export { bundleConsole } from '@stemma/console/build/build.ts'
