// Filtered lists of advisories with few matches. A list among 200,000 advisories may cost at most twice as much as the
// same list among 2,000.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { AdvisorySchema, ReviewState } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import {
  importBatch,
  tuneStoreForImport,
} from '../../server/resources/vulnerabilities/advisories/import-batch.ts'
import type { ImportItem } from '../../server/resources/vulnerabilities/advisories/import-rows.ts'
import { importRowsOf } from '../../server/resources/vulnerabilities/advisories/import-rows.ts'
import type { Store } from '../../server/store/db.ts'
import { openSegments } from '../../server/store/postings/numbering.ts'
import { measure } from '../load/load.ts'
import { startProcess } from '../load/processes.ts'
import { alternate, ratioOf } from '../load/rounds.ts'
import { rates, seconds, warmSeconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import type { BenchServer } from '../stores/bench-server.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import { requestOf } from './rest-ratio.ts'

const [few, many] = [2000, 200_000]
const rounds = 9
/** The largest allowed ratio of the cost among many advisories to the cost among few. */
const maxRatio = 2
/** Advisories per transaction. */
const batchSize = 3000

/** Each filter has the same matches in both stores: all of them are among the first 2,000 advisories. */
const filters = {
  'one alias': 'aliases=CVE-2026-100007',
  'a package with 10 advisories': 'artifact_names=package-7',
  'part of an alias': 'query=2026-100007',
  '1,000 advisories of one author': 'event_authors=rare',
  'three filters and a query':
    'event_authors=rare&artifact_types=npm&event_types=EVENT_TYPE_FILTER_FIXED&query=package-7',
}

export async function benchAdvisories(): Promise<Line[]> {
  await using serverWithFew = await startBenchServer(1, [], importAdvisories(few))
  await using serverWithMany = await startBenchServer(1, [], importAdvisories(many))
  await using load = startProcess('load-core', 'bench/load/http-load.ts')
  const lines: Line[] = []
  for (const [name, filter] of Object.entries(filters)) lines.push(await compare(name, filter))
  return lines

  async function compare(name: string, filter: string): Promise<Line> {
    const path = `/vulnerabilities/v2beta1/advisories?${filter}`
    const sideOf = ({ server, authorization }: BenchServer) => {
      const task = { inFlight: 8, seconds, request: requestOf(path, authorization) }
      return { task, run: () => measure(load, server, task), server }
    }
    const [amongFew, amongMany] = [sideOf(serverWithFew), sideOf(serverWithMany)]
    for (const { server, task } of [amongFew, amongMany])
      await measure(load, server, { ...task, seconds: warmSeconds })
    const samples = await alternate(rounds, amongMany.run, amongFew.run)
    const perCpu = (side: typeof samples.ours) => side.map((sample) => sample.perCpu)
    const costRatio = 1 / ratioOf(perCpu(samples.ours), perCpu(samples.baseline))
    return {
      label: `List of advisories, ${name}, 200k against 2k`,
      measured: rates(samples.ours),
      baseline: rates(samples.baseline),
      ratio: costRatio.toFixed(2),
      goal: `${maxRatio} at most`,
      isMet: costRatio <= maxRatio,
    }
  }
}

export const importAdvisories = (count: number) => async (store: Store, organization: string) => {
  await store.write(tuneStoreForImport)
  const nextSegment = openSegments()
  for (let at = 0; at < count; at += batchSize) {
    const items = Array.from({ length: Math.min(batchSize, count - at) }, (_, offset) =>
      importRowsOf(organization, itemOf(at + offset)),
    )
    const segment = nextSegment(items[0]?.entry.uid ?? '')
    await store.write(() => importBatch(operatorAccess, organization, items, segment))
  }
}

function itemOf(at: number): ImportItem {
  const time = Date.UTC(2026, 0, 1) + at
  const eventTypes = [
    'detection',
    'truePositiveDetermination',
    'pendingUpstreamFix',
    'fixed',
    'patched',
  ] as const
  return {
    ...{ source: `bench:${at}`, format: 'bench', record: '{}', origin: '' },
    ...{ createTime: time, updateTime: time, withdrawTime: undefined },
    draft: create(AdvisorySchema, {
      author: 'bench',
      artifactName: `package-${at < few ? at % 200 : at}`,
      artifactType: 'npm',
      aliases: [`CVE-2026-${100_000 + at}`],
      events: eventTypes.map((name, order) => ({
        author: at < 1000 ? 'rare' : 'bench',
        reviewState: ReviewState.APPROVED,
        createTime: timestampFromMs(time + order),
        type: { case: name, value: {} } as { case: 'fixed'; value: object },
      })),
    }),
  }
}
