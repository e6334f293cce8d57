// Tokens in files, one folder for each audience. Published clients use the same layout, below another folder.
import { readdir, readFile, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from './failure.ts'
import { withLock } from './lock.ts'
import { writePrivateFile } from './private-file.ts'
import type { Runtime } from './runtime.ts'

export type Tokens = {
  access: string | undefined
  refresh: string | undefined
  /** The audience whose token was exchanged for this one. Both are removed together. */
  exchangedFrom?: string
}

type StoreRuntime = Pick<Runtime, 'env' | 'now'>

/** A token that expires within this time counts as expired. */
const marginMs = 60_000

const files = ['oidc-token', 'refresh-token', 'exchanged-from'] as const

/** Reads the tokens of an audience, without an access token that has expired. */
export async function readTokens(audience: string, { env, now }: StoreRuntime): Promise<Tokens> {
  const folder = folderOf(audience, env)
  const [access, refresh] = await Promise.all([read(folder, 'oidc-token'), read(folder, 'refresh-token')])
  return { access: access && expiryOf(access) - now() > marginMs ? access : undefined, refresh }
}

export async function saveTokens(audience: string, tokens: Tokens, env: NodeJS.ProcessEnv): Promise<void> {
  const folder = folderOf(audience, env)
  // The refresh token first: if the process ends in between, that token alone can fetch an access token.
  await writeOrRemove(folder, 'refresh-token', tokens.refresh)
  await writeOrRemove(folder, 'exchanged-from', tokens.exchangedFrom)
  if (tokens.access !== undefined) await writeOrRemove(folder, 'oidc-token', tokens.access)
}

export const removeTokens = (audience: string, env: NodeJS.ProcessEnv): Promise<void> =>
  removeFiles(folderOf(audience, env))

/** Removes the tokens of other audiences for which a token of this audience was exchanged. */
export async function removeExchangedTokens(audience: string, env: NodeJS.ProcessEnv): Promise<void> {
  const parent = join(cacheFolder(env), 'stemma')
  for (const name of await readdir(parent).catch(ifMissing([]))) {
    const folder = join(parent, name)
    if ((await read(folder, 'exchanged-from')) === audience) await removeFiles(folder)
  }
}

/** A refresh token can be used only once, so only one process at a time may use or replace it. */
export const withTokenLock = <T>(
  audience: string,
  { env, now }: StoreRuntime,
  work: () => Promise<T>,
): Promise<T> => withLock(join(folderOf(audience, env), 'lock'), now, work)

/** When a token expires, in milliseconds since 1970; 0 if the token cannot be parsed. The signature is not verified. */
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
  const text = await readFile(join(folder, name), 'utf8').catch(ifMissing(''))
  return text.trim() || undefined
}

/** Removes the file if `text` is undefined, so that nothing of an earlier sign-in is left. */
const writeOrRemove = (folder: string, name: FileName, text: string | undefined): Promise<void> =>
  text === undefined ? rm(join(folder, name), { force: true }) : writePrivateFile(join(folder, name), text)

async function removeFiles(folder: string): Promise<void> {
  for (const name of files) await rm(join(folder, name), { force: true })
}

const ifMissing =
  <T>(fallback: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return fallback
    throw error
  }

function folderOf(audience: string, env: NodeJS.ProcessEnv): string {
  const name = audience.replaceAll('/', '-')
  if (['', '.', '..'].includes(name)) throw new UsageError('--audience must name the audience of the token')
  return join(cacheFolder(env), 'stemma', process.platform === 'win32' ? name.replaceAll(':', '-') : name)
}

function cacheFolder(env: NodeJS.ProcessEnv): string {
  if (env.XDG_CACHE_HOME) return env.XDG_CACHE_HOME
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches')
  if (process.platform === 'win32' && env.LOCALAPPDATA) return env.LOCALAPPDATA
  return join(homedir(), '.cache')
}
