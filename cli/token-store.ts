// Tokens in files, one folder for each audience, where other clients of this API look for them as well.
import { readdir, readFile, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { writePrivately } from './context.ts'
import { withLock } from './lock.ts'
import { UsageError } from './usage.ts'

export type Tokens = {
  access: string | undefined
  refresh: string | undefined
  /** The audience whose token it was exchanged for, and with which it goes. */
  from?: string
}

/** Less than this before its end a token is not handed out any more. */
const margin = 60_000

const files = ['oidc-token', 'refresh-token', 'exchanged-from'] as const

export async function readTokens(audience: string, env: NodeJS.ProcessEnv): Promise<Tokens> {
  const folder = folderOf(audience, env)
  const [access, refresh] = await Promise.all([read(folder, 'oidc-token'), read(folder, 'refresh-token')])
  return { access: access && expiryOf(access) - Date.now() > margin ? access : undefined, refresh }
}

export async function saveTokens(audience: string, tokens: Tokens, env: NodeJS.ProcessEnv): Promise<void> {
  const folder = folderOf(audience, env)
  // The refresh token first: without the other one it is of use, not the other way round.
  await write(folder, 'refresh-token', tokens.refresh)
  await write(folder, 'exchanged-from', tokens.from)
  if (tokens.access !== undefined) await write(folder, 'oidc-token', tokens.access)
}

export const removeTokens = (audience: string, env: NodeJS.ProcessEnv): Promise<void> =>
  removeFiles(folderOf(audience, env))

/** Of other audiences, what was got with the tokens of this one. */
export async function removeExchanged(audience: string, env: NodeJS.ProcessEnv): Promise<void> {
  const all = join(cacheFolder(env), 'stemma')
  for (const name of await readdir(all).catch(orNothing([]))) {
    const folder = join(all, name)
    if ((await read(folder, 'exchanged-from')) === audience) await removeFiles(folder)
  }
}

/** A refresh token is used once, so whoever reads one to use it, or puts another in its place, does so alone. */
export const holdTokens = <T>(audience: string, env: NodeJS.ProcessEnv, act: () => Promise<T>): Promise<T> =>
  withLock(join(folderOf(audience, env), 'lock'), act)

/** When a token ends, in milliseconds; 0 for what is no token. Only the server can tell whether it is genuine. */
export function expiryOf(token: string): number {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return typeof exp === 'number' ? exp * 1000 : 0
  } catch {
    return 0
  }
}

type FileName = (typeof files)[number]

async function read(folder: string, name: FileName): Promise<string | undefined> {
  const text = await readFile(join(folder, name), 'utf8').catch(orNothing(''))
  return text.trim() || undefined
}

/** What is left of somebody else must not stay behind. */
const write = (folder: string, name: FileName, text: string | undefined): Promise<void> =>
  text === undefined ? rm(join(folder, name), { force: true }) : writePrivately(join(folder, name), text)

async function removeFiles(folder: string): Promise<void> {
  for (const name of files) await rm(join(folder, name), { force: true })
}

const orNothing =
  <T>(nothing: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return nothing
    throw error
  }

function folderOf(audience: string, env: NodeJS.ProcessEnv): string {
  const flat = audience.replaceAll('/', '-')
  if (['', '.', '..'].includes(flat)) throw new UsageError('--audience must name whom the token is for')
  return join(cacheFolder(env), 'stemma', process.platform === 'win32' ? flat.replaceAll(':', '-') : flat)
}

function cacheFolder(env: NodeJS.ProcessEnv): string {
  if (env.XDG_CACHE_HOME) return env.XDG_CACHE_HOME
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches')
  if (process.platform === 'win32' && env.LOCALAPPDATA) return env.LOCALAPPDATA
  return join(homedir(), '.cache')
}
