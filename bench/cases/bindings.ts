// Compares a list of role bindings, which show fields of three other kinds, with a list of groups, which show only
// their own fields.
import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { RoleBindingSchema } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { newChildUid } from '../../server/aip/uid.ts'
import { builtInRoles } from '../../server/policy/built-in-roles.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { identities } from '../../server/resources/iam/identities/table.ts'
import { roleBindings } from '../../server/resources/iam/role-bindings/table.ts'
import type { Store } from '../../server/store/db.ts'
import { measure } from '../load/load.ts'
import { startProcess } from '../load/processes.ts'
import { alternate, ratioOf } from '../load/rounds.ts'
import { rates, seconds, warmSeconds } from '../report/ratio-line.ts'
import type { Line } from '../report/report.ts'
import { startBenchServer } from '../stores/bench-server.ts'
import { requestOf } from './rest-ratio.ts'

const rounds = 21
const bindingCount = 500

export async function benchBindings(): Promise<Line[]> {
  const bench = await startBenchServer(1000, [], createBindings)
  const load = startProcess('load-core', 'bench/load/http-load.ts')
  const tasks = ['roleBindings', 'groups'].map((kind) => ({
    ...{ inFlight: 32, seconds, request: requestOf(`/iam/v2beta1/${kind}`, bench.authorization) },
  }))
  try {
    const [bindings, groups] = tasks.map((task) => () => measure(load, bench.server, task))
    if (!bindings || !groups) return []
    for (const task of tasks) await measure(load, bench.server, { ...task, seconds: warmSeconds })
    const samples = await alternate(rounds, bindings, groups)
    const perCpu = (side: typeof samples.ours) => side.map((sample) => sample.perCpu)
    return [
      {
        label: 'List of 50 bindings, hydrated, against 50 groups',
        measured: rates(samples.ours),
        baseline: rates(samples.baseline),
        ratio: ratioOf(perCpu(samples.ours), perCpu(samples.baseline)).toFixed(2),
        goal: '',
        isMet: undefined,
      },
    ]
  } finally {
    await load.stop()
    await bench.end()
  }
}

function createBindings(store: Store, organization: string): Promise<void> {
  const now = Date.now()
  return store.write(function* () {
    for (let at = 0; at < bindingCount; at++) {
      const identityUid = newChildUid(organization, now, randomBytes)
      const identity = create(IdentitySchema, {
        name: `robot-${at}`,
        relationship: {
          case: 'claimMatch',
          value: {
            iss: { case: 'issuer', value: 'https://issuer.test' },
            sub: { case: 'subject', value: `robot-${at}` },
          },
        },
      })
      yield* createEntry(operatorAccess, identities, identity, { uid: identityUid, now })
      const role = builtInRoles[at % builtInRoles.length]?.uid ?? ''
      yield* createEntry(operatorAccess, roleBindings, create(RoleBindingSchema), {
        uid: newChildUid(organization, now, randomBytes),
        now,
        columns: { identity: identityUid, role },
      })
    }
  })
}
