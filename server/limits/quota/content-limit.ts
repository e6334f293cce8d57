// The limit on the content of repos. Limits are `int32` in the contract, so this one is in MiB; the tally counts bytes.

export const contentKind = 'registry_mebibytes'

/** How much in the tally one unit of a limit is. */
export const unitOf = (kind: string): number => (kind === contentKind ? 2 ** 20 : 1)
