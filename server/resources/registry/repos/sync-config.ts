// The sync configuration of a repo: from which repo or image its images are copied, until when, and
// to which other registries.
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Capability } from '@stemma/api/gen/capabilities/capability_pb.ts'
import { SyncConfigSchema as V1SyncConfigSchema } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import type { SyncConfig } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { invalidArgument, invalidField } from '../../../aip/errors.ts'
import { isUid, rootOf } from '../../../aip/uid.ts'
import { violationsOf } from '../../../aip/validate.ts'
import { holds } from '../../../policy/grants.ts'
import { readGrants } from '../../../policy/read-grants.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import type { Caller } from '../../../wire/caller.ts'
import { readAllNamesakes, readLevels } from '../find-repo.ts'
import { readSettings } from '../settings/table.ts'
import type { V1RepoFields } from './table.ts'

const defaultLifetimeMs = 14 * 24 * 60 * 60 * 1000

export type SyncContext = {
  /** The uid of the repo. */
  uid: string
  time: number
  caller: Caller
  fields: V1RepoFields
  /** The configuration before the update, if there was one. */
  current?: SyncConfig | undefined
}

/** Resolves a new source and sets the fields that callers of v2 cannot set. */
export function* completeSyncConfig(config: SyncConfig, context: SyncContext): Work<void> {
  const { uid, time, current, fields } = context
  if (config.source !== current?.source) config.source = yield* resolveSource(config.source, context)
  if (!current) {
    const { settings } = yield* readSettings(rootOf(uid))
    config.uniqueTags = settings.uniqueTags
    config.gracePeriod = settings.eolGracePeriod
    // In whole seconds: clients that store times without fractions can send the time back unchanged.
    config.expirationTime = timestampFromMs(Math.floor((time + defaultLifetimeMs) / 1000) * 1000)
  }
  if (fields.syncConfig) setV1Fields(config, fields.syncConfig, current === undefined)
}

function setV1Fields(
  config: SyncConfig,
  fields: NonNullable<V1RepoFields['syncConfig']>,
  isNew: boolean,
): void {
  // The rules of v2 skip these fields, because they are output-only there.
  const [fault, ...others] = violationsOf(V1SyncConfigSchema, create(V1SyncConfigSchema, fields)).map(
    ({ field, ...rest }) => ({ field: `sync_config.${field}`, ...rest }),
  )
  if (fault) throw invalidArgument(fault, ...others)
  const { expiration, apkoOverlay, gracePeriod } = fields
  if (expiration) config.expirationTime = expiration
  if (apkoOverlay !== undefined) config.apkoOverlay = apkoOverlay
  // In v1, false cannot be distinguished from unset, so a new configuration keeps its default.
  if (gracePeriod || (gracePeriod === false && !isNew)) config.gracePeriod = gracePeriod
}

/**
 * A source is an image of any registry, or a repo that the caller may list, so that nobody copies
 * images from a repo that they cannot read. `acme/static` means the repo that registry clients find
 * by this name in the organization `acme`, if the repo with this configuration is in `acme` too.
 */
function* resolveSource(source: string, { uid, caller, time }: SyncContext): Work<string> {
  if (isUid(source)) {
    if (source === uid || !(yield* mayList(caller, time, source)))
      throw invalidField('sync_config.source', 'must be another repo that you may list')
    return source
  }
  const named = yield* repoNamed(source, rootOf(uid))
  return named !== undefined && named !== uid && (yield* mayList(caller, time, named)) ? named : source
}

/** The same result whether the repo does not exist or the caller may not list it. */
function* mayList(caller: Caller, time: number, repo: string): Work<boolean> {
  const grants = yield* readGrants(caller, time, repo)
  if (!holds(grants, [Capability.CAP_REPO_LIST], repo)) return false
  return (yield* first(sql`select 1 from repos where uid = ${repo}`)) !== undefined
}

function* repoNamed(image: string, organization: string): Work<string | undefined> {
  const found = yield* readLevels(image.split('/'), function* (parent, name, below) {
    if (parent !== undefined) return yield* readAllNamesakes(parent, name, below)
    const rows = yield sql`select uid from groups where uid = ${organization} and name = ${name}`
    return rows.map(([uid]) => uid as string)
  })
  return found.kind === 'repo' ? found.uid : undefined
}
