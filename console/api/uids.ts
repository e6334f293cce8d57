/** The uid of the parent of a resource. Empty if it has none, such as an organization. */
export const parentOf = (uid: string) => uid.slice(0, Math.max(0, uid.lastIndexOf('/')))

export const isUid = (text: string) => /^[0-9a-f]{40}(\/[0-9a-f]{16})*$/.test(text)

/** Whether a uid is the group itself or below it. */
export const isInGroup = (uid: string, group: string) => `${uid}/`.startsWith(`${group}/`)
