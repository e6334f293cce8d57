// Tokens in files, one folder for each audience, where other clients of this API look for them as well.
import { readFile, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { writePrivately } from './context.ts'
import { UsageError } from './usage.ts'

export type Tokens = { access: string | undefined; refresh: string | undefined }

/** Less than this before its end a token is not handed out any more. */
const margin = 60_000

export async function readTokens(audience: string, env: NodeJS.ProcessEnv): Promise<Tokens> {
  const [access, refresh] = await Promise.all(
    ['oidc-token', 'refresh-token'].map((name) => read(folderOf(audience, env), name)),
  )
  return { access: access && expiryOf(access) - Date.now() > margin ? access : undefined, refresh }
}

export async function saveTokens(audience: string, tokens: Tokens, env: NodeJS.ProcessEnv): Promise<void> {
  const folder = folderOf(audience, env)
  // What is left of somebody else must not stay behind.
  if (tokens.refresh === undefined) await rm(join(folder, 'refresh-token'), { force: true })
  else await writePrivately(join(folder, 'refresh-token'), tokens.refresh)
  if (tokens.access !== undefined) await writePrivately(join(folder, 'oidc-token'), tokens.access)
}

export async function removeTokens(audience: string, env: NodeJS.ProcessEnv): Promise<void> {
  const folder = folderOf(audience, env)
  for (const name of ['oidc-token', 'refresh-token']) await rm(join(folder, name), { force: true })
}

/** When a token ends, in milliseconds; 0 for what is no token. Only the server can tell whether it is genuine. */
export function expiryOf(token: string): number {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return typeof exp === 'number' ? exp * 1000 : 0
  } catch {
    return 0
  }
}

async function read(folder: string, name: string): Promise<string | undefined> {
  const text = await readFile(join(folder, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return text.trim() || undefined
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
