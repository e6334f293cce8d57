const uidsPerStatement = 500

/** Divides a list of uids, so that no statement has too many parameters. */
export function* portions(uids: readonly string[]): Generator<string[]> {
  for (let at = 0; at < uids.length; at += uidsPerStatement) yield uids.slice(at, at + uidsPerStatement)
}
