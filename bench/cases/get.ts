import type { Line } from '../report/report.ts'
import { startWorld } from '../stores/world.ts'
import { compareWithBare } from './rest-ratio.ts'

export async function benchGet(): Promise<Line[]> {
  const world = await startWorld(200)
  try {
    return [await compareWithBare('Get group, REST', world, `/iam/v2beta1/groups/${world.group}`, 0.5)]
  } finally {
    await world.end()
  }
}
