import { BlobError } from './blob-error.ts'

export type HeldUploads = ReturnType<typeof makeHeldUploads>

/** Lets one call at a time use an upload. A second one is refused rather than queued: its offset would be wrong. */
export function makeHeldUploads() {
  const held = new Set<string>()
  return {
    isHeld: (id: string): boolean => held.has(id),
    async hold<T>(id: string, use: () => Promise<T>): Promise<T> {
      if (held.has(id)) throw new BlobError('busy', `another request is using upload ${id}`)
      held.add(id)
      try {
        return await use()
      } finally {
        held.delete(id)
      }
    },
  }
}
