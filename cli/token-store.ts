// Stores tokens in files, in one folder for each audience and context. The context `default` uses the folder of the
// audience. Published clients use the same layout below another parent folder. A named context uses a subfolder of the
// folder of the audience, so that two people, or a person and a workload, can be signed in to one server at the same
// time.
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from './context.ts'
import { defaultContext } from './context.ts'
import { UsageError } from './failure.ts'
import { homeFolder, xdgFolder } from './home-folder.ts'
import { withLock } from './lock.ts'
import { writePrivateFile } from './private-file.ts'
import type { Runtime } from './runtime.ts'

export type Tokens = {
  access: string | undefined
  refresh: string | undefined
  /** The audience of the token that was exchanged for these tokens. If that token is removed, so are these. */
  exchangedFrom?: string
}

/** Where tokens are stored: a context, and an audience of its server. */
type Place = Pick<Context, 'name' | 'audience'>

type StoreRuntime = Pick<Runtime, 'env' | 'now'>

/** A token that expires within this time is treated as expired. */
const expiryMarginMs = 60_000

const fileNames = ['oidc-token', 'refresh-token', 'exchanged-from'] as const

/** Reads the stored tokens. The access token is undefined if it has expired. */
export async function readTokens(place: Place, { env, now }: StoreRuntime): Promise<Tokens> {
  const folder = folderOf(place, env)
  const [access, refresh] = await Promise.all([read(folder, 'oidc-token'), read(folder, 'refresh-token')])
  return { access: access && expiryOf(access) - now() > expiryMarginMs ? access : undefined, refresh }
}

export async function saveTokens(place: Place, tokens: Tokens, env: NodeJS.ProcessEnv): Promise<void> {
  const folder = folderOf(place, env)
  // The refresh token is written first: if the process ends before the access token is written, the refresh token is
  // enough to get one.
  await writeOrRemove(folder, 'refresh-token', tokens.refresh)
  await writeOrRemove(folder, 'exchanged-from', tokens.exchangedFrom)
  if (tokens.access !== undefined) await writeOrRemove(folder, 'oidc-token', tokens.access)
}

export const removeTokens = (place: Place, env: NodeJS.ProcessEnv): Promise<void> =>
  removeFiles(folderOf(place, env))

/** Removes the tokens for other audiences that the context got in exchange for a token of this audience. */
export async function removeExchangedTokens(
  { name, audience }: Place,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const parent = storeFolder(env)
  for (const audienceFolder of await readdir(parent).catch(ifMissing([]))) {
    const folder = join(parent, audienceFolder, contextFolder(name))
    if ((await read(folder, 'exchanged-from')) === audience) await removeFiles(folder)
  }
}

/** A second use of a refresh token can end the sign-in, so only one process at a time may use or replace it. */
export const withTokenLock = <T>(
  place: Place,
  { env, now }: StoreRuntime,
  work: () => Promise<T>,
): Promise<T> => withLock(join(folderOf(place, env), 'lock'), now, work)

/** When a token expires, in milliseconds since 1970; 0 if the token cannot be parsed. The signature is not verified. */
export function expiryOf(token: string): number {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return typeof exp === 'number' ? exp * 1000 : 0
  } catch {
    return 0
  }
}

type FileName = (typeof fileNames)[number]

async function read(folder: string, name: FileName): Promise<string | undefined> {
  const text = await readFile(join(folder, name), 'utf8').catch(ifMissing(''))
  return text.trim() || undefined
}

/** Removes the file if `text` is undefined, so that nothing of an earlier sign-in is left. */
const writeOrRemove = (folder: string, name: FileName, text: string | undefined): Promise<void> =>
  text === undefined ? rm(join(folder, name), { force: true }) : writePrivateFile(join(folder, name), text)

async function removeFiles(folder: string): Promise<void> {
  for (const name of fileNames) await rm(join(folder, name), { force: true })
}

const ifMissing =
  <T>(fallback: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return fallback
    throw error
  }

function folderOf({ name, audience }: Place, env: NodeJS.ProcessEnv): string {
  const folder = audience.replaceAll('/', '-')
  if (['', '.', '..'].includes(folder)) throw new UsageError('--audience must name the audience of the token')
  const safeFolder = process.platform === 'win32' ? folder.replaceAll(':', '-') : folder
  return join(storeFolder(env), safeFolder, contextFolder(name))
}

const contextFolder = (name: string) => (name === defaultContext ? '' : `context-${escapeName(name)}`)

/** Also escapes capital letters, because some file systems treat `Work` and `work` as the same name. */
const escapeName = (name: string) =>
  name.replace(/[^a-z0-9._-]/gu, (character) => `%${character.codePointAt(0)?.toString(16)}.`)

/** The folder of everything that is stored. Only its owner can read it. */
export const storeFolder = (env: NodeJS.ProcessEnv): string => join(cacheFolder(env), 'stemma')

function cacheFolder(env: NodeJS.ProcessEnv): string {
  const named = xdgFolder(env.XDG_CACHE_HOME)
  if (named !== undefined) return named
  if (process.platform === 'darwin') return join(homeFolder(env), 'Library', 'Caches')
  if (process.platform === 'win32' && env.LOCALAPPDATA) return env.LOCALAPPDATA
  return join(homeFolder(env), '.cache')
}
