// Errors and warnings of v2 calls name fields of the v2 request; v1 callers get the names of their own request.
import { Code } from '../../aip/code.ts'
import { StatusError, textOf } from '../../aip/errors.ts'
import type { Warning } from '../../wire/warning.ts'

/** A pattern in a v2 field path, and the text that replaces it in v1. */
export type FieldRename = readonly [v2: RegExp, v1: string]

const rename = (renames: readonly FieldRename[], path: string) =>
  renames.reduce((renamed, [from, to]) => renamed.replace(from, to), path)

/** The same error with renamed fields in its violations. */
export function renameViolations(renames: readonly FieldRename[], error: StatusError): StatusError {
  const violations = error.violations.map(({ field, ...rest }) => ({
    field: rename(renames, field),
    ...rest,
  }))
  const [first] = violations
  if (!first) return error
  const { headers } = error
  return new StatusError(error.code, `${first.field}: ${first.description}`, { violations, headers })
}

type WithWarnings = { warnings?: readonly Warning[] | undefined }

/** Resolves or rejects as `reply` does, with renamed fields in warnings and errors. */
export async function renameErrorFields<T extends WithWarnings>(
  renames: readonly FieldRename[],
  reply: Promise<T>,
): Promise<T> {
  try {
    const resolved = await reply
    const warnings = resolved.warnings?.map(({ field, description }) => ({
      field: rename(renames, field),
      description,
    }))
    return warnings ? { ...resolved, warnings } : resolved
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    // In a batch, the error message starts with the field path of the item that already exists.
    if (error.code === Code.ALREADY_EXISTS)
      throw new StatusError(error.code, rename(renames, textOf(error)), { headers: error.headers })
    throw renameViolations(renames, error)
  }
}
