// The access of a caller to repos, in the words of the registry's token protocol.
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import type { Grants } from '../../../policy/grants.ts'
import { holds } from '../../../policy/grants.ts'
import { readGrants } from '../../../policy/read-grants.ts'
import type { Work } from '../../../store/work.ts'
import type { Caller } from '../../../wire/caller.ts'
import type { RepoAccess, RepoAction } from '../../../wire/repo-access.ts'
import type { Settings } from '../../dependencies.ts'
import { isPublicRepo } from './admit-to-pull.ts'
import { findRepoFor } from './find-repo-for.ts'

/**
 * A caller with any one of the capabilities gets the action in the token, because each request
 * checks the capabilities that it needs.
 */
const capabilitiesOf: Record<RepoAction, readonly Capability[]> = {
  pull: [
    Capability.CAP_MANIFEST_LIST,
    Capability.CAP_TAG_LIST,
    Capability.CAP_REPO_BLOBS_GET,
    Capability.CAP_REFERRERS_LIST,
  ],
  push: [Capability.CAP_MANIFEST_CREATE],
  delete: [Capability.CAP_MANIFEST_DELETE, Capability.CAP_TAG_DELETE],
}

/**
 * The part of `asked` that the caller has. For a name that no repo has, access is checked at the
 * group in which the repo would be, so the result does not tell a caller whether a repo exists that
 * they have no access to.
 */
export function* heldAccess(
  settings: Settings,
  caller: Caller,
  time: number,
  asked: readonly RepoAccess[],
): Work<RepoAccess[]> {
  const grants: Grants =
    caller.identity === '' ? { caller, time, list: [] } : yield* readGrants(caller, time, undefined)
  const held: RepoAccess[] = []
  for (const { name, actions } of asked) {
    const uid = yield* uidOf(settings, grants, name)
    const isPublic = settings.publicRepos && actions.includes('pull') && (yield* isPublicRepo(uid))
    const granted = actions.filter((action) => mayDo(grants, action, uid) || (isPublic && action === 'pull'))
    if (granted.length > 0) held.push({ name, actions: granted })
  }
  return held
}

/** The uid at which access to the repo is checked; empty if there is none. */
function* uidOf(settings: Settings, grants: Grants, name: string): Work<string> {
  const found = yield* findRepoFor(settings, grants, name)
  if (found.kind === 'repo') return found.uid
  return found.kind === 'missing' ? found.group : ''
}

const mayDo = (grants: Grants, action: RepoAction, uid: string) =>
  uid !== '' && capabilitiesOf[action].some((capability) => holds(grants, [capability], uid))
