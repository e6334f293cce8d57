// `stemma images tree`.
import type { ComposedInvocation } from '../composed/composed-command.ts'
import { accessTokenOf } from '../connection.ts'
import { registryHost } from '../registry/registry-host.ts'
import { parseDepth, prune } from '../resources/branches.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { readImageTree } from './image-tree.ts'
import { printImageTree } from './print-image.ts'
import { parseReference } from './reference.ts'
import { openRegistryClient } from './registry-client.ts'

export async function runImageTree(invocation: ComposedInvocation): Promise<void> {
  const { args, flags, format, isDebug, context, screen, runtime } = invocation
  const [image = ''] = args
  // A flag with a value is never `true`.
  const depth = parseDepth(flags.depth as string | undefined)
  const { name, reference } = parseReference(image, registryHost(context))
  const client = openRegistryClient({
    ...{ api: context.api, name, token: () => accessTokenOf(context, runtime) },
    fetch: isDebug ? reportingFetch(runtime) : fetch,
  })
  const tree = prune(await readImageTree(client, reference), depth)
  await printImageTree(tree, image, format, screen)
}

const reportingFetch =
  (runtime: Runtime): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    report(runtime, `GET ${input}: ${response.status}`)
    return response
  }
