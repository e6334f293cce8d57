import type { Line } from '../report/report.ts'
import { startWorld } from '../stores/world.ts'
import { compareWithBare } from './rest-ratio.ts'

export async function benchList(): Promise<Line[]> {
  const world = await startWorld(1000)
  try {
    return [
      await compareWithBare('List of 50 by uid, REST', world, '/iam/v2beta1/groups', 0.25),
      await compareWithBare('List of 50 by name, REST', world, '/iam/v2beta1/groups?order_by=name', 0.25),
    ]
  } finally {
    await world.end()
  }
}
