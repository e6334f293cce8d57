// Finds the repo of a request by its name, and creates it for a push.
import type { NamedRepo } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { Content } from '@stemma/api/gen/platform/registry/content/content_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { Code } from '../aip/code.ts'
import { StatusError } from '../aip/errors.ts'
import { registryError } from '../aip/registry-error.ts'
import type { MaybePromise } from '../wire/maybe-promise.ts'
import { andThen } from '../wire/maybe-promise.ts'
import { call } from './call.ts'
import type { Exchange, FoundRepo, RegistryDependencies } from './door-context.ts'

/**
 * The uid at which access to the repo is checked: that of the repo or, if there is none, that of the group in which it
 * would be. Called after the client was authenticated.
 */
export const repoOf = (deps: RegistryDependencies, exchange: Exchange): MaybePromise<string> =>
  andThen(findNamed(deps, exchange, exchange.name), (found) => uidOf(exchange, found))

/** The same, for a push: a repo that does not exist is created if the client may do that. */
export const repoForPush = (deps: RegistryDependencies, exchange: Exchange): MaybePromise<string> =>
  andThen(findNamed(deps, exchange, exchange.name), (found) =>
    found.kind === 'missing' && found.rest !== '' && deps.createsRepos
      ? createRepo(deps, exchange, found)
      : uidOf(exchange, found),
  )

/** If several groups have the name, the grants of the caller decide which one is meant. */
export const findNamed = (
  deps: RegistryDependencies,
  exchange: Exchange,
  name: string,
): MaybePromise<FoundRepo> =>
  andThen(deps.findRepo(name), (found) =>
    found.kind === 'ambiguous'
      ? andThen(
          call(deps, exchange, Content.method.getNamedRepo, () => ({ name })),
          foundRepo,
        )
      : found,
  )

function foundRepo({ repo, group, rest, namesakes }: NamedRepo): FoundRepo {
  if (repo !== '') return { kind: 'repo', uid: repo }
  if (group !== '') return { kind: 'missing', group, rest }
  return namesakes.length > 0 ? { kind: 'ambiguous', groups: namesakes } : { kind: 'nothing' }
}

function uidOf(exchange: Exchange, found: FoundRepo): string {
  switch (found.kind) {
    case 'repo':
      return found.uid
    case 'missing':
      return found.group
    case 'ambiguous':
      throw ambiguous(exchange.name, found.groups)
    case 'nothing':
      return nowhere
  }
}

/** A uid at which nobody has access: an unknown name gets the same error as a repo that the client may not use. */
const nowhere = '0'.repeat(40)

async function createRepo(
  deps: RegistryDependencies,
  exchange: Exchange,
  { group, rest }: { group: string; rest: string },
): Promise<string> {
  try {
    const request = { parent: group, repo: { name: rest } }
    const { uid } = await call(deps, exchange, ReposService.method.createRepo, () => request)
    return uid
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    // Clients push the layers of an image at the same time, so another request may have created the repo.
    if (error.code === Code.ALREADY_EXISTS) return await repoOf(deps, exchange)
    if (error.code === Code.INVALID_ARGUMENT)
      throw registryError(
        'NAME_INVALID',
        Code.INVALID_ARGUMENT,
        `${exchange.name} cannot be the name of a repo`,
      )
    throw error
  }
}

/** The same error whether the repo does not exist or the client may not use it. */
export const denied = (name: string) =>
  registryError(
    'DENIED',
    Code.PERMISSION_DENIED,
    `you may not do this with ${name === '' ? 'this registry' : name}, or it does not exist`,
  )

const ambiguous = (name: string, uids: readonly string[]) =>
  registryError(
    'NAME_UNKNOWN',
    Code.FAILED_PRECONDITION,
    `${name} is ambiguous: several groups have this name (${uids.join(', ')}); use the uid of the repo in place of its name`,
    { http: 409 },
  )
