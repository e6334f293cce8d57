// Which server a command speaks to: by flag, by the environment, or as a context that was saved at sign-in.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { UsageError } from './usage.ts'

export type Context = {
  name: string
  /** How the API is reached, and whom its tokens are for. */
  api: string
  /** How the issuer of its tokens is reached. */
  issuer: string
  audience: string
}

export type ContextFlags = {
  context?: string | undefined
  api?: string | undefined
  issuer?: string | undefined
  audience?: string | undefined
}

type Saved = { current?: string; contexts?: Record<string, { api?: string; issuer?: string }> }

const defaultApi = 'http://localhost:8080'

export async function readContext(flags: ContextFlags, env: NodeJS.ProcessEnv): Promise<Context> {
  const saved = await readSaved(env)
  const name = flags.context ?? env.STEMMA_CONTEXT ?? saved.current ?? 'default'
  const known = saved.contexts?.[name]
  if (flags.context !== undefined && !known && flags.api === undefined)
    throw new UsageError(`there is no context ${JSON.stringify(name)}; sign in with --api to make one`)
  // A context that was asked for by name is itself, whatever the environment says.
  const own = flags.context === undefined ? env : {}
  const named = flags.api ?? own.STEMMA_API
  const api = urlOf('--api', named ?? known?.api ?? defaultApi)
  // The issuer of one server gets no token that is meant for another.
  const paired = flags.api === undefined ? own.STEMMA_ISSUER : undefined
  const saidIssuer = named === undefined ? known?.issuer : undefined
  const issuer = urlOf('--issuer', flags.issuer ?? paired ?? saidIssuer ?? api)
  return { name, api, issuer, audience: flags.audience ?? api }
}

/** Remembers a context and makes it the current one. */
export async function saveContext({ name, api, issuer }: Context, env: NodeJS.ProcessEnv): Promise<void> {
  const saved = await readSaved(env)
  const contexts = { ...saved.contexts, [name]: { api, issuer } }
  await writePrivately(fileIn(env), `${JSON.stringify({ current: name, contexts }, undefined, 2)}\n`)
}

async function readSaved(env: NodeJS.ProcessEnv): Promise<Saved> {
  const file = fileIn(env)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  try {
    return JSON.parse(text) as Saved
  } catch {
    throw new UsageError(`${file} is no JSON; mend it or remove it`)
  }
}

const fileIn = (env: NodeJS.ProcessEnv) =>
  join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'stemma', 'config.json')

function urlOf(flag: string, text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(`${flag} must be an http or https URL, not ${JSON.stringify(text)}`)
  return text.replace(/\/$/, '')
}

/** Whole or not at all, and for nobody else's eyes. */
export async function writePrivately(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}.tmp`
  await writeFile(draft, text, { mode: 0o600 })
  await rename(draft, file)
}
