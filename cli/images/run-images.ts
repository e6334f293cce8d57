// `stemma images tree`.

import { parseArgs } from 'node:util'
import { commonOptions } from '../command-line.ts'
import type { Context } from '../context.ts'
import { readContext } from '../context.ts'
import { UsageError } from '../failure.ts'
import { parseFormat } from '../output/format.ts'
import { openScreen } from '../output/screen.ts'
import { registryHost } from '../registry/registry-host.ts'
import { parseDepth, prune } from '../resources/branches.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { imageTreeHelp } from './help.ts'
import { readImageTree } from './image-tree.ts'
import { printImageTree } from './print-image.ts'
import { parseReference } from './reference.ts'
import { openRegistryClient } from './registry-client.ts'

export async function runImageTree(args: string[], runtime: Runtime): Promise<void> {
  if (args.some((word) => word === '--help' || word === '-h')) {
    runtime.stdout.write(`${imageTreeHelp}\n`)
    return
  }
  const { values, positionals } = parseTreeLine(args)
  const [image, ...others] = positionals
  if (image === undefined || others.length > 0)
    throw new UsageError('stemma images tree needs one image, such as acme/platform/app:latest')
  const format = parseFormat(values.output)
  const depth = parseDepth(values.depth)
  const context = await readContext(values, runtime.env)
  const { name, reference } = parseReference(image, registryHost(context))
  const client = openRegistryClient({
    ...{ api: context.api, name, token: () => tokenOf(context, runtime) },
    fetch: values.debug ? reportingFetch(runtime) : fetch,
  })
  const tree = prune(await readImageTree(client, reference), depth)
  await printImageTree(tree, image, format, openScreen(runtime))
}

function parseTreeLine(args: string[]) {
  try {
    const options = { ...commonOptions, depth: { type: 'string' } } as const
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(`${(error as Error).message}; see stemma images tree --help`)
  }
}

/** Imported when needed: with STEMMA_TOKEN, openid-client need not be loaded. */
const tokenOf = async (context: Context, runtime: Runtime): Promise<string> =>
  runtime.env.STEMMA_TOKEN || (await import('../auth/access-token.ts')).currentAccessToken(context, runtime)

const reportingFetch =
  (runtime: Runtime): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    report(runtime, `GET ${input}: ${response.status}`)
    return response
  }
