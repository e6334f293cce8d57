// A platform that contains one random world at a time, for property tests.
import type { Door } from '../../server/testing/doors.ts'
import { grpcDoor, restDoor } from '../../server/testing/doors.ts'
import type { Platform } from '../../server/testing/platform.ts'
import { startPlatform } from '../../server/testing/platform.ts'
import type { Engine } from '../../server/testing/stores.ts'
import type { Plan, World } from './world.ts'
import { buildWorld, clearWorld, writeWorld } from './world.ts'

export type WorldPlatform = {
  platform: Platform
  rest: Door
  grpc: Door
  /** Builds the world of the plan, lets `complete` add to it, and replaces the stored world. */
  load(plan: Plan, complete?: (world: World) => World): Promise<World>
  stop(): Promise<void>
}

export async function startWorldPlatform(engine: Engine, args: string[] = []): Promise<WorldPlatform> {
  const platform = await startPlatform(engine, args)
  const [rest, grpc] = [restDoor(platform.url), grpcDoor(platform.url)]
  return {
    ...{ platform, rest, grpc },
    async load(plan, complete = (world) => world) {
      const world = complete(buildWorld(plan))
      await clearWorld(platform.store)
      await writeWorld(platform.store, world)
      return world
    },
    async stop() {
      rest.close()
      grpc.close()
      await platform.stop()
    },
  }
}
