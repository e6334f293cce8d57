// A context is the server that a command calls. Flags and environment variables select it; `auth login` saves it.
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from './failure.ts'
import { writePrivateFile } from './private-file.ts'

export type Context = {
  name: string
  /** URL of the API. It is also the default audience of tokens. */
  api: string
  /** URL of the token issuer. */
  issuer: string
  audience: string
}

export type ContextFlags = {
  context?: string | undefined
  api?: string | undefined
  issuer?: string | undefined
  audience?: string | undefined
}

type ConfigFile = { current?: string; contexts?: Record<string, { api?: string; issuer?: string }> }

const defaultApi = 'http://localhost:8080'

export async function readContext(flags: ContextFlags, env: NodeJS.ProcessEnv): Promise<Context> {
  const config = await readConfig(env)
  const name = flags.context ?? env.STEMMA_CONTEXT ?? config.current ?? 'default'
  const saved = config.contexts?.[name]
  if (flags.context !== undefined && !saved && flags.api === undefined)
    throw new UsageError(
      `there is no context ${JSON.stringify(name)}; create it with stemma auth login --context ${name} --api URL`,
    )
  // --context takes precedence over the environment.
  const { STEMMA_API, STEMMA_ISSUER } = flags.context === undefined ? env : {}
  const requestedApi = flags.api ?? STEMMA_API
  const api = checkUrl('--api', requestedApi ?? saved?.api ?? defaultApi)
  // An issuer that was configured for one server must not receive the tokens of another.
  const envIssuer = flags.api === undefined ? STEMMA_ISSUER : undefined
  const savedIssuer = requestedApi === undefined ? saved?.issuer : undefined
  const issuer = checkUrl('--issuer', flags.issuer ?? envIssuer ?? savedIssuer ?? api)
  return { name, api, issuer, audience: flags.audience ?? api }
}

/** Saves a context and makes it the current one. */
export async function saveContext({ name, api, issuer }: Context, env: NodeJS.ProcessEnv): Promise<void> {
  const config = await readConfig(env)
  const contexts = { ...config.contexts, [name]: { api, issuer } }
  await writePrivateFile(configFile(env), `${JSON.stringify({ current: name, contexts }, undefined, 2)}\n`)
}

async function readConfig(env: NodeJS.ProcessEnv): Promise<ConfigFile> {
  const file = configFile(env)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  try {
    return JSON.parse(text) as ConfigFile
  } catch {
    throw new UsageError(`${file} is not valid JSON; correct or remove it`)
  }
}

const configFile = (env: NodeJS.ProcessEnv) =>
  join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'stemma', 'config.json')

function checkUrl(flag: string, text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(`${flag} must be an http or https URL, not ${JSON.stringify(text)}`)
  return text.replace(/\/$/, '')
}
