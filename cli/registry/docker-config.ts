// The file in which docker keeps passwords of registries, or the names of the credential helpers
// that keep them. Podman, skopeo, crane and others read it, too.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from '../failure.ts'
import { homeFolder } from '../home-folder.ts'
import { isObject } from '../is-object.ts'
import { withLock } from '../lock.ts'
import type { Runtime } from '../runtime.ts'
import { storeFolder } from '../token-store.ts'
import { replaceFile } from './replace-file.ts'

export type DockerConfig = {
  auths?: Record<string, { auth?: string }>
  credHelpers?: Record<string, string>
  credsStore?: string
}

export const dockerConfigFile = (env: NodeJS.ProcessEnv): string =>
  join(env.DOCKER_CONFIG || join(homeFolder(env), '.docker'), 'config.json')

/**
 * The credential helper of a host, without the prefix `docker-credential-`. If there is one, docker does not read the
 * password from `auths`. An empty name in `credHelpers` means that the host has none, not even `credsStore`.
 */
export function helperOf({ credHelpers = {}, credsStore }: DockerConfig, host: string): string | undefined {
  return (Object.hasOwn(credHelpers, host) ? credHelpers[host] : credsStore) || undefined
}

export async function readDockerConfig(file: string): Promise<DockerConfig> {
  return parse(file, await readText(file))
}

/** Changes the text of the file. The lock keeps out other `stemma` processes, but not docker. */
export const editDockerConfig = (
  file: string,
  { env, now }: Pick<Runtime, 'env' | 'now'>,
  edit: (text: string) => string,
): Promise<void> =>
  withLock(join(storeFolder(env), 'docker-config.lock'), now, async () => {
    const text = await readText(file)
    parse(file, text)
    const edited = edit(text)
    if (edited !== text) await replaceFile(file, edited)
  })

async function readText(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return text.trim() === '' ? '{}\n' : text
}

function parse(file: string, text: string): DockerConfig {
  const content = parseJson(file, text)
  if (!isObject(content)) throw new UsageError(`${file} must contain a JSON object; correct or remove it`)
  for (const name of ['auths', 'credHelpers'])
    if (name in content && !isObject(content[name]))
      throw new UsageError(`${name} in ${file} must be an object; correct or remove it`)
  return content
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The error of the parser would quote the file, which may contain passwords.
    throw new UsageError(`${file} is not valid JSON; correct or remove it`)
  }
}
