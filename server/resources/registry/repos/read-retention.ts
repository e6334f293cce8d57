import { equals } from '@bufbuild/protobuf'
import type { Repo, Retention } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { RetentionSchema } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { sql } from '../../../store/sql.ts'
import type { Work } from '../../../store/work.ts'
import { first } from '../../../store/work.ts'
import { messageOf } from '../../kind.ts'
import { repos } from './table.ts'

export type RepoRules = { retention: Retention; immutableTags: readonly string[] }

/** The rules of a repo that has a retention. */
export function* readRules(repo: string): Work<RepoRules | undefined> {
  return rulesIn(yield* first(sql`select proto from repos where uid = ${repo}`))
}

/**
 * The rules of the repo if its retention is still this one. Until the transaction ends, the rules
 * cannot change, and nobody can push to the repo (see lockRepo).
 */
export function* lockRules(repo: string, retention: Retention): Work<RepoRules | undefined> {
  const rules = rulesIn(yield* first(sql`select proto from repos where uid = ${repo} /*pg for update */`))
  return rules && equals(RetentionSchema, rules.retention, retention) ? rules : undefined
}

function rulesIn(row: readonly unknown[] | undefined): RepoRules | undefined {
  if (!row) return undefined
  const { retention, immutableTags }: Repo = messageOf(repos, row[0] as Uint8Array)
  return retention && { retention, immutableTags }
}
