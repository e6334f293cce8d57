import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import type { Line } from '../report/report.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import { compareWithBareGrpc, grpcTask } from './grpc-ratio.ts'

const minRatio = 0.6

export async function benchGrpc(): Promise<Line[]> {
  const bench = await startBenchServer(200)
  try {
    const task = grpcTask(GroupsService.method.getGroup, { uid: bench.group }, bench.authorization)
    return [await compareWithBareGrpc('Get group, gRPC', bench, task, minRatio)]
  } finally {
    await bench.end()
  }
}
