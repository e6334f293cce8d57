// Compares a page of ListReach over gRPC for an identity with 1000 role bindings and for one whose
// role bindings fit on the page. The total is exact, so a page costs more with more role bindings,
// but it should not cost much more.
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { measure } from '../load/load.ts'
import { startProcess } from '../load/processes.ts'
import { alternate, ratioOf } from '../load/rounds.ts'
import { rates, seconds, warmSeconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import type { BenchServer } from '../stores/bench-server.ts'
import { grpcTask } from './grpc-ratio.ts'

export const manyBindings = 1000
const pageSize = 50
const rounds = 21
const minRatio = 0.4

/** `few` and `many` are identities with `pageSize` and `manyBindings` role bindings. */
export async function reachLine(bench: BenchServer, few: string, many: string): Promise<Line> {
  const load = startProcess('load-core', 'bench/load/grpc-load.ts')
  const taskOf = async (identity: string) => ({
    ...grpcTask(AccessService.method.listReach, { pageSize }, await bench.authorizationOf(identity)),
    inFlight: 4,
  })
  const [manyTask, fewTask] = [await taskOf(many), await taskOf(few)]
  try {
    for (const task of [manyTask, fewTask])
      await measure(load, bench.server, { ...task, seconds: warmSeconds })
    const samples = await alternate(
      rounds,
      () => measure(load, bench.server, { ...manyTask, seconds }),
      () => measure(load, bench.server, { ...fewTask, seconds }),
    )
    const perCpu = (side: typeof samples.ours) => side.map((sample) => sample.perCpu)
    const ratio = ratioOf(perCpu(samples.ours), perCpu(samples.baseline))
    return {
      label: `ListReach, gRPC, ${pageSize} of ${manyBindings} role bindings against ${pageSize} of ${pageSize}`,
      ...{ measured: rates(samples.ours), baseline: rates(samples.baseline) },
      ...{ ratio: ratio.toFixed(2), goal: minRatio.toFixed(2), isMet: ratio >= minRatio },
    }
  } finally {
    await load.stop()
  }
}
