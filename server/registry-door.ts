// Composition of the registry, through which clients such as docker push and pull images.

import type { DescMethod } from '@bufbuild/protobuf'
import type { Config } from './config/config.ts'
import type { ContentStorage } from './content-storage.ts'
import type { Mount } from './http/dispatch.ts'
import { lazily } from './lazily.ts'
import type { RegistryDependencies } from './oci/door-context.ts'
import type { RegistryHandler } from './oci/registry.ts'
import { isOciPath } from './oci/route.ts'
import type { MinimumRate } from './oci/slow-body.ts'
import { openRepoLookup } from './resources/registry/find-repo.ts'
import type { Endpoint } from './rpc/call.ts'
import type { Store } from './store/db.ts'
import type { Corridor } from './wire/envelope.ts'

export type RegistryDoorDependencies = {
  config: Config
  store: Store
  content: ContentStorage
  endpoints: readonly Endpoint[]
  corridor: Corridor<Endpoint>
  minimumRate?: MinimumRate | undefined
} & Pick<RegistryDependencies, 'now' | 'onBody' | 'onLongBody' | 'onError'>

/** In bytes, for one client network and in total. A manifest has at most 8 MiB. */
const maxManifestMemory = { network: 16 * 2 ** 20, total: 64 * 2 ** 20 }

/** The paths of the registry. Their handler is loaded at the first request. */
export function openRegistryDoor(deps: RegistryDoorDependencies): Mount {
  const { config, store, content, endpoints, corridor, now, onBody, onLongBody, onError } = deps
  const byMethod = new Map<DescMethod, Endpoint>(
    endpoints.map((endpoint) => [endpoint.method.desc, endpoint]),
  )
  const endpointOf = (method: DescMethod) => {
    const endpoint = byMethod.get(method)
    if (!endpoint) throw new Error(`${method.parent.typeName}.${method.name} is not served`)
    return endpoint
  }
  /** Undefined until it is loaded. Then requests need not wait for a promise. */
  let handler: RegistryHandler | undefined
  const open = lazily(async () => {
    const [registry, { openBodyBudget }, transfers, { openLostBlobs }, { defaultMinimumRate }] =
      await Promise.all([
        import('./oci/registry.ts'),
        import('./oci/body-budget.ts'),
        import('./oci/running-transfers.ts'),
        import('./oci/lost-blobs.ts'),
        import('./oci/slow-body.ts'),
      ])
    const { openRegistry } = registry
    const blobs = await content.open()
    handler = openRegistry({
      // The cast is safe: `endpointOf` returns only endpoints of this corridor.
      ...{
        corridor: corridor as Parameters<typeof openRegistry>[0]['corridor'],
        endpointOf,
        now,
        onBody,
        onLongBody,
        onError,
      },
      runningUploads: transfers.openRunningUploads(config.maxUploadBodies),
      runningPulls: transfers.openRunningPulls(config.maxPulls),
      bodyBudget: openBodyBudget(maxManifestMemory),
      minimumRate: deps.minimumRate ?? defaultMinimumRate,
      findRepo: openRepoLookup(store),
      ...{ blobs, lostBlobs: openLostBlobs(blobs, now, onError) },
      ...{ baseUrl: config.baseUrl, createsRepos: config.repoCreation === 'push' },
      // Published clients of a vendor use its name in paths, as they do in the names of gRPC services.
      extensions: new Set(['stemma.', ...config.vendorPrefixes].map((prefix) => `_${prefix.slice(0, -1)}`)),
    })
    return handler
  })
  return {
    isFor: isOciPath,
    sendsContinue: true,
    writesHeaders: true,
    handle(request, response, target) {
      if (handler) return handler(request, response, target)
      // If the storage cannot be opened, the next request tries again.
      return open().then((handle) => handle(request, response, target))
    },
  }
}
