// Explains a refused call: the missing capability, the place, and the command that shows why.
import type { Connection } from '@stemma/api'
import { Code, StemmaError } from '@stemma/api'
import type { ContextFlags } from '../context.ts'
import { groupPaths, lineageOf } from '../names/group-paths.ts'
import { looksLikeUid } from '../names/naming.ts'

/** Lines below the error. Empty if the error is not about a capability at a place. */
export async function refusalLines(
  error: unknown,
  connection: Connection | undefined,
  { context, api }: ContextFlags,
): Promise<string[]> {
  if (!connection || !(error instanceof StemmaError) || error.code !== Code.PERMISSION_DENIED) return []
  const { permission = '', resource = '' } = error.metadata
  // Errors without a capability and a uid are about something else, such as a field that only the
  // operator may change. The check also ensures that the printed command contains nothing from the
  // server that a shell would interpret.
  if (!/^[a-z0-9_]+(?:\.[a-z0-9_]+)+$/.test(permission) || !looksLikeUid(resource)) return []
  const serverFlags = [context && ` --context ${context}`, api && ` --api '${new URL(api).href}'`]
  return [
    `  missing capability: ${permission}`,
    `  place: ${await placeText(connection, resource)}`,
    `  to see why: stemma access explain ${permission} ${resource}${serverFlags.filter(Boolean).join('')}`,
  ]
}

/** The path of the lowest group at or above the uid that the caller may see. If the look-up fails, only the uid. */
async function placeText(connection: Connection, uid: string): Promise<string> {
  const paths = await groupPaths(connection, [uid]).catch(() => new Map<string, string>())
  const group = lineageOf(uid).findLast((each) => paths.has(each))
  if (group === undefined) return uid
  return group === uid ? `${paths.get(group)} (${uid})` : `in ${paths.get(group)} (${uid})`
}
