// Writes many resources of a kind directly to the store, with one insert. Tests use it where the calls that create the
// resources are not what they test: a create call takes about ten times as long.
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { lineage } from '../aip/uid.ts'
import { operatorAccess } from '../policy/system-access.ts'
import type { NewEntry } from '../resources/create.ts'
import { newEntryOf } from '../resources/create.ts'
import type { ExtraColumns, Kind } from '../resources/kind.ts'
import { insertUncounted } from '../store/table.ts'
import { adjustTally } from '../store/tally.ts'
import type { Work } from '../store/work.ts'

/** Parents must come before their children. */
export function* createMany<D extends DescMessage, X extends ExtraColumns>(
  kind: Kind<D, X>,
  resources: readonly (readonly [draft: MessageShape<D>, entry: NewEntry<X>])[],
): Work<void> {
  const entries = resources.map(([draft, entry]) => newEntryOf(kind, draft, entry))
  yield* insertUncounted(operatorAccess, kind.table, entries)
  for (const [parent, children] of Map.groupBy(entries, (entry) => entry.parent ?? ''))
    yield* adjustTally(kind.table.name, lineage(parent), children.length)
}
