/** The uid of the parent of a resource. Empty if it has none, such as an organization. */
export const parentOf = (uid: string) => uid.slice(0, Math.max(0, uid.lastIndexOf('/')))

export const isUid = (text: string) => /^[0-9a-f]{40}(\/[0-9a-f]{16})*$/.test(text)

/** Whether a uid is the group itself or below it. */
export const isInGroup = (uid: string, group: string) => `${uid}/`.startsWith(`${group}/`)

/** The uids of a group and of all groups above it, from the organization on. */
export const uidsOnPath = (group: string) =>
  group.split('/').map((_, at, segments) => segments.slice(0, at + 1).join('/'))
