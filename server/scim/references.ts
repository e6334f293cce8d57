// The members of groups and the groups of users, which are stored once, as pairs.
import { among, raw, sql } from '../store/sql.ts'
import { maxReferencesInPage } from './limits.ts'
import type { ListContext } from './list.ts'
import type { Resource } from './schema/schema.ts'
import type { Stored, StoredType } from './stored.ts'
import { idOf } from './stored.ts'

/**
 * Adds the references to the resources of a page. The page is cut off before the resource with
 * which it would exceed `maxReferencesInPage`, but it always keeps its first resource.
 */
export async function withReferences(
  { store, base }: ListContext,
  { references: { name, columns } }: StoredType,
  page: Stored[],
): Promise<Stored[]> {
  if (page.length === 0) return page
  const { own, other, display, endpoint, kind } = columns
  const uids = page.map(({ uid }) => uid)
  const counts = new Map(
    (
      await store.query(sql`select ${raw(own)}, count(*) from scim_members
        where ${raw(own)} in ${among(uids)} group by ${raw(own)}`)
    ).map((row) => row as [string, number]),
  )
  const kept = cutOff(page, counts)
  const rows =
    await store.query(sql`select m.${raw(own)}, m.${raw(other)}, ${raw(display)} from scim_members m
    join scim_groups g on g.uid = m.group_uid
    where m.${raw(own)} in ${among(kept.map(({ uid }) => uid))} order by m.${raw(own)}, m.${raw(other)}`)
  const found = new Map<string, Resource[]>()
  for (const [uid, otherUid, json] of rows as [string, string, string | null][]) {
    const list = found.get(uid) ?? []
    if (list.length === 0) found.set(uid, list)
    const id = idOf(otherUid)
    list.push({ value: id, $ref: `${base}/${endpoint}/${id}`, type: kind, ...displayOf(json) })
  }
  return kept.map((row) => {
    const list = found.get(row.uid)
    return list ? { ...row, resource: { ...row.resource, [name]: list } } : row
  })
}

/** The name of a group. Members are shown without their names, as in the schema of RFC 7643 section 8.7.1. */
function displayOf(json: string | null): Resource {
  return json === null ? {} : { display: (JSON.parse(json) as Resource).displayName }
}

function cutOff(page: Stored[], counts: ReadonlyMap<string, number>): Stored[] {
  let total = 0
  const end = page.findIndex(({ uid }, at) => {
    total += counts.get(uid) ?? 0
    return at > 0 && total > maxReferencesInPage
  })
  return end < 0 ? page : page.slice(0, end)
}
