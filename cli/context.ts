// A context is a server and a sign-in to it. Flags and environment variables select the context of a command;
// `auth login` saves it.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from './failure.ts'
import { homeFolder, xdgFolder } from './home-folder.ts'
import { isObject } from './is-object.ts'
import { withLock } from './lock.ts'
import { writePrivateFile } from './private-file.ts'
import type { Runtime } from './runtime.ts'

export type Context = {
  name: string
  /** URL of the API. It is also the default audience of tokens. */
  api: string
  /** URL of the token issuer. */
  issuer: string
  audience: string
}

/** The name of the context that is used until another one is named. */
export const defaultContext = 'default'

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
  // --context takes precedence over the environment.
  const { STEMMA_API, STEMMA_ISSUER } = flags.context === undefined ? env : {}
  const requestedApi = checkOptionalUrl('--api', flags.api) ?? checkOptionalUrl('STEMMA_API', STEMMA_API)
  const requestedName =
    checkName('--context', flags.context) ?? checkName('STEMMA_CONTEXT', env.STEMMA_CONTEXT)
  const name = requestedName ?? contextNameFor(config, requestedApi)
  const saved = savedContext(config, name)
  if (requestedName !== undefined && !saved && requestedApi === undefined)
    throw new UsageError(
      `there is no context ${JSON.stringify(name)}; create it with stemma auth login --context ${name} --api URL`,
    )
  const api = requestedApi ?? checkOptionalUrl(`the API of the context ${name}`, saved?.api) ?? defaultApi
  // An issuer that was configured for one server must not receive the tokens of another.
  const envIssuer = flags.api === undefined ? STEMMA_ISSUER : undefined
  const isSavedServer = requestedApi === undefined || requestedApi === saved?.api
  const savedIssuer = isSavedServer ? saved?.issuer : undefined
  const issuer =
    checkOptionalUrl('--issuer', flags.issuer) ??
    checkOptionalUrl('STEMMA_ISSUER', envIssuer) ??
    checkOptionalUrl(`the issuer of the context ${name}`, savedIssuer) ??
    api
  return { name, api, issuer, audience: flags.audience ?? api }
}

/**
 * The name of the context to use if the command does not name one: the current context if `api` is undefined or is the
 * server of the current context. Otherwise the context of the server `api` if exactly one exists, or else the default.
 */
function contextNameFor(config: ConfigFile, api: string | undefined): string {
  const current = config.current ?? defaultContext
  if (api === undefined || savedContext(config, current)?.api === api) return current
  const names = Object.keys(config.contexts ?? {}).filter((name) => savedContext(config, name)?.api === api)
  // If several contexts have this server, none of them is preferred; `--context` selects one.
  return names.length === 1 ? (names[0] ?? defaultContext) : defaultContext
}

const savedContext = ({ contexts = {} }: ConfigFile, name: string) =>
  Object.hasOwn(contexts, name) ? contexts[name] : undefined

/** Only characters that are safe in file names are allowed, because the name becomes part of a file path. */
function checkName(source: string, name: string | undefined): string | undefined {
  if (name === undefined || /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return name
  throw new UsageError(
    `${source} must be 1 to 64 letters, digits, dots, dashes or underscores, and start with a letter or digit, not ${JSON.stringify(name)}`,
  )
}

/** The contexts that `auth login` has saved, without those whose server is not a URL. */
export async function savedContexts(env: NodeJS.ProcessEnv): Promise<Context[]> {
  const { contexts = {} } = await readConfig(env)
  return Object.entries(contexts).flatMap(([name, { api, issuer }]) =>
    api !== undefined && URL.canParse(api) ? [{ name, api, issuer: issuer ?? api, audience: api }] : [],
  )
}

/** Saves a context and makes it the current one. */
export const saveContext = (
  { name, api, issuer }: Context,
  { env, now }: Pick<Runtime, 'env' | 'now'>,
): Promise<void> =>
  withLock(`${configFile(env)}.lock`, now, async () => {
    const config = await readConfig(env)
    const contexts = { ...config.contexts, [name]: { api, issuer } }
    await writePrivateFile(configFile(env), `${JSON.stringify({ current: name, contexts }, undefined, 2)}\n`)
  })

async function readConfig(env: NodeJS.ProcessEnv): Promise<ConfigFile> {
  const file = configFile(env)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  const config = parseJson(file, text)
  if (!isObject(config)) throw new UsageError(`${file} must contain a JSON object; correct or remove it`)
  const { current, contexts = {} } = config
  if (current !== undefined && typeof current !== 'string')
    throw new UsageError(`current in ${file} must be a string; correct or remove it`)
  if (!isObject(contexts)) throw new UsageError(`contexts in ${file} must be an object; correct or remove it`)
  for (const [name, context] of Object.entries(contexts))
    if (!isObject(context))
      throw new UsageError(`contexts.${name} in ${file} must be an object; correct or remove it`)
  return config
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${file} is not valid JSON; correct or remove it`)
  }
}

const configFile = (env: NodeJS.ProcessEnv) =>
  join(xdgFolder(env.XDG_CONFIG_HOME) ?? join(homeFolder(env), '.config'), 'stemma', 'config.json')

/** `source` says where the URL comes from. */
function checkOptionalUrl(source: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new UsageError(`${source} must be an http or https URL, not ${JSON.stringify(text)}`)
  return text.replace(/\/$/, '')
}
