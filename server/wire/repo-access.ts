// Access to repos as the registry's token protocol describes it: by the names that clients write, and by actions.

export const repoActions = ['pull', 'push', 'delete'] as const
export type RepoAction = (typeof repoActions)[number]

export type RepoAccess = { name: string; actions: readonly RepoAction[] }

/** The access that one request needs, and its HTTP method. */
export type RepoNeed = { name: string; action: RepoAction; method: string }
