// The limit on the content of repos. Limits are `int32` in the contract, so this one is in MiB; the tally counts bytes.

export const contentKind = 'registry_mebibytes'

/** The amount in the tally that corresponds to 1 in a limit on this kind. */
export const unitOf = (kind: string): number => (kind === contentKind ? 2 ** 20 : 1)
