// Finds the paths of groups, such as `acme/platform`, by their uids. People recognise paths; uids are long.
import type { JsonObject } from '@bufbuild/protobuf'
import type { Connection } from '@stemma/api'
import { commandOf, rowsField } from '../contract/commands.ts'

/** Limits the uids in one call. About ten uids of groups that are 32 levels deep fit. */
const maxUidBytes = 6000
/** Bounds the calls for a caller with roles in many groups. Groups beyond it are shown by uid. */
const maxUids = 1000

/**
 * The paths of the groups that the caller may see, by uid. A path starts below the lowest group that the caller may not
 * see. Uids of other resources are ignored.
 */
export async function groupPaths(
  connection: Connection,
  uids: Iterable<string>,
): Promise<Map<string, string>> {
  const wanted = [...new Set([...uids].flatMap(lineageOf))].slice(0, maxUids)
  const names = new Map<string, string>()
  for (const ids of chunksOf(wanted))
    for (const [uid, name] of await namesOf(connection, ids)) names.set(uid, name)
  return new Map([...names.keys()].map((uid) => [uid, pathOf(uid, names)]))
}

/** The uid and those above it, from the organization down. */
export function lineageOf(uid: string): string[] {
  const segments = uid.split('/')
  return segments.map((_, index) => segments.slice(0, index + 1).join('/'))
}

function pathOf(uid: string, names: Map<string, string>): string {
  const lineage = lineageOf(uid).map((each) => names.get(each))
  return lineage.slice(lineage.lastIndexOf(undefined) + 1).join('/')
}

function* chunksOf(uids: string[]): Generator<string[]> {
  let [chunk, bytes]: [string[], number] = [[], 0]
  for (const uid of uids) {
    if (bytes + uid.length > maxUidBytes) {
      yield chunk
      ;[chunk, bytes] = [[], 0]
    }
    chunk.push(uid)
    bytes += uid.length + '&uidp.ids='.length
  }
  if (chunk.length > 0) yield chunk
}

async function namesOf(connection: Connection, ids: string[]): Promise<[string, string][]> {
  const list = commandOf('groups', 'list')
  const response = await connection.call(list.method.desc, { uidp: { ids }, pageSize: ids.length })
  const rows = (response[rowsField(list)] ?? []) as JsonObject[]
  return rows.map(({ uid, name }) => [String(uid), String(name)])
}
