import type { Line } from '../report/report.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import { compareWithBareHttp } from './rest-ratio.ts'

const minRatio = 0.5

export async function benchGet(): Promise<Line[]> {
  const bench = await startBenchServer(200)
  try {
    return [
      await compareWithBareHttp('Get group, REST', bench, `/iam/v2beta1/groups/${bench.group}`, minRatio),
    ]
  } finally {
    await bench.end()
  }
}
