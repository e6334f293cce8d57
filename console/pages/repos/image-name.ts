// The name of a repo for registry clients: the host of the server, and the names of its groups and of the repo.
import type { RepoJson } from '@stemma/api/json/platform/registry/v2beta1/repo'
import { useRead } from '../../api/read.ts'
import { parentOf, uidsOnPath } from '../../api/uids.ts'
import { readPath } from '../../shell/group-path.ts'

/** A path segment that registry clients accept. Group names with spaces do not match. */
const segmentPattern = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/

/** Contains the uid, not names, until the groups are read, or if a name is hidden or not valid. */
export function useImageName({ uid = '', name = '' }: RepoJson): string {
  const path = useGroupPath(parentOf(uid))
  return path === undefined ? `${location.host}/${uid}` : `${location.host}/${path}/${name}`
}

/**
 * The names of a group and of all groups above it, joined by slashes. Undefined until they are
 * read, and if the person may not see one, or registry clients reject it.
 */
export function useGroupPath(group: string): string | undefined {
  const { data } = useRead(readPath(group))
  const names = new Map(data?.groups?.map(({ uid, name }) => [uid, name]))
  const segments = uidsOnPath(group).map((uid) => names.get(uid) ?? '')
  return segments.every((segment) => segmentPattern.test(segment)) ? segments.join('/') : undefined
}
