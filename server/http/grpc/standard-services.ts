// The health and reflection services of gRPC, loaded by the first request for them: they take more memory than the rest
// of gRPC.
import type { DescService } from '@bufbuild/protobuf'
import type { Server } from '@grpc/grpc-js'

export type StandardServices = {
  /** Resolves when the service of a path is registered; undefined if the path belongs to none of these services. */
  load(path: string): Promise<void> | undefined
  setServing(isServing: boolean): void
}

const health = '/grpc.health.'
const reflection = '/grpc.reflection.'

export const isStandardPath = (path: string) => path.startsWith(health) || isReflection(path)
export const isReflection = (path: string) => path.startsWith(reflection)
export const isHealthWatch = (path: string) => path.startsWith(health) && path.endsWith('/Watch')

export function openStandardServices(server: Server, services: readonly DescService[]): StandardServices {
  const loading = new Map<string, Promise<void>>()
  let isServing = true
  let setHealth: ((isServing: boolean) => void) | undefined

  const loaders: Record<string, () => Promise<void>> = {
    async [health]() {
      const { addHealth } = await import('./health.ts')
      setHealth = addHealth(
        server,
        services.map(({ typeName }) => typeName),
      )
      setHealth(isServing)
    },
    async [reflection]() {
      const { addReflection } = await import('./reflection.ts')
      addReflection(server, services)
    },
  }

  return {
    load(path) {
      const [prefix = '', load] = Object.entries(loaders).find(([start]) => path.startsWith(start)) ?? []
      if (!load) return undefined
      const loaded = loading.get(prefix) ?? load()
      loading.set(prefix, loaded)
      // After a failure, the next request tries again.
      loaded.catch(() => loading.delete(prefix))
      return loaded
    },
    setServing(value) {
      isServing = value
      setHealth?.(value)
    },
  }
}
