import type { Line } from '../report/report.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import { compareWithBareHttp } from './rest-ratio.ts'

const minRatio = 0.25

export async function benchList(): Promise<Line[]> {
  const bench = await startBenchServer(1000)
  try {
    return [
      await compareWithBareHttp('List of 50 by uid, REST', bench, '/iam/v2beta1/groups', minRatio),
      await compareWithBareHttp(
        'List of 50 by name, REST',
        bench,
        '/iam/v2beta1/groups?order_by=name',
        minRatio,
      ),
    ]
  } finally {
    await bench.end()
  }
}
