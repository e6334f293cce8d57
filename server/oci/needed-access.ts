// The access that a request needs: what its token must allow, and the scopes that a client is told to ask for.
import type { RepoAccess, RepoAction, RepoNeed } from '../wire/repo-access.ts'
import type { OciRoute } from './route.ts'
import { isRepoName } from './route.ts'

export type NeededAccess = { repo: RepoNeed | undefined; scopes: readonly RepoAccess[] }

export const noAccess: NeededAccess = { repo: undefined, scopes: [] }

/** Clients ask for `pull` as well, because an operation that changes a repo reads it, too. */
const askedFor: Record<RepoAction, readonly RepoAction[]> = {
  pull: ['pull'],
  push: ['pull', 'push'],
  delete: ['pull', 'delete'],
}

export function neededAccess(
  route: OciRoute | undefined,
  method: string,
  query: URLSearchParams,
): NeededAccess {
  if (!route || !('name' in route)) return noAccess
  const { name } = route
  const action = actionOf(route, method)
  const scopes = [{ name, actions: askedFor[action] }]
  // A blob that is mounted is read in another repo. Without the right to do that, the client uploads the blob.
  const source = route.kind === 'uploads' && query.has('mount') ? (query.get('from') ?? '') : ''
  if (isRepoName(source) && source !== name) scopes.push({ name: source, actions: askedFor.pull })
  return { repo: { name, action, method }, scopes }
}

/** All requests of an upload are part of a push, also those that read or cancel it. */
function actionOf({ kind }: OciRoute, method: string): RepoAction {
  if (kind === 'upload' || kind === 'uploads') return 'push'
  if (method === 'DELETE') return 'delete'
  return method === 'GET' || method === 'HEAD' ? 'pull' : 'push'
}
