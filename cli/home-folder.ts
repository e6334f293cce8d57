import { homedir, userInfo } from 'node:os'
import { isAbsolute } from 'node:path'
import { UsageError } from './failure.ts'

/** Refuses a relative HOME, with which tokens would be written to the current folder. */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  const folder = process.platform === 'win32' ? homedir() : env.HOME || accountHome()
  if (isAbsolute(folder)) return folder
  throw new UsageError(`HOME must be an absolute path, not ${JSON.stringify(folder)}`)
}

/** The folder that an XDG variable names. The XDG Base Directory Specification requires that relative paths are ignored. */
export const xdgFolder = (value: string | undefined): string | undefined =>
  value !== undefined && isAbsolute(value) ? value : undefined

function accountHome(): string {
  try {
    return userInfo().homedir
  } catch {
    // The user id has no account, as in some containers.
    throw new UsageError('the home folder is not known; set HOME')
  }
}
