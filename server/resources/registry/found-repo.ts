/** The result of looking up the name of a repo. */
export type FoundRepo =
  | { kind: 'repo'; uid: string }
  /** No such repo. `group` is the deepest existing group of the name, and `rest` the name that the repo would have. */
  | { kind: 'missing'; group: string; rest: string }
  /** A part of the name fits several groups, which `groups` lists. */
  | { kind: 'ambiguous'; groups: string[] }
  /** No organization fits the first part of the name. */
  | { kind: 'nothing' }
