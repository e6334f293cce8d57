import { stat } from 'node:fs/promises'
import { parseFlags } from '../parse-flags.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { expiryOf } from '../token-store.ts'
import { editDockerConfig, helperOf, readDockerConfig } from './docker-config.ts'
import { setAt } from './json-text.ts'
import { fileOptions, readTarget } from './options.ts'
import { callHelper } from './other-helper.ts'
import { registryToken, tokenUser } from './registry-token.ts'

/** `stemma registry login`: stores a token that works until it expires. */
export async function login(args: string[], runtime: Runtime): Promise<void> {
  const target = await readTarget(parseFlags(args, fileOptions), runtime)
  const { context, host, file } = target
  const secret = runtime.env.STEMMA_TOKEN || (await registryToken(context, runtime))
  const helper = helperOf(await readDockerConfig(file), host)
  if (helper === 'stemma')
    return report(runtime, `${file} names docker-credential-stemma for ${host} already: no login is needed.`)
  await storePassword({ host, file, helper, username: tokenUser, secret }, runtime)
  report(runtime, `Stored a token for ${host} in ${file}. ${expiryText(secret, runtime)}`)
  report(runtime, 'With stemma registry configure-docker instead, docker gets new tokens by itself.')
}

export type Password = {
  host: string
  file: string
  helper: string | undefined
  username: string
  secret: string
}

/** Stores a password as `docker login` does. */
export async function storePassword({ host, file, helper, username, secret }: Password, runtime: Runtime) {
  if (helper !== undefined) {
    const input = JSON.stringify({ ServerURL: host, Username: username, Secret: secret })
    await callHelper(helper, 'store', input, runtime.env)
    // By an empty entry docker knows that its helper has a password.
    return editDockerConfig(file, runtime, (text) => setAt(text, ['auths', host], {}))
  }
  const auth = Buffer.from(`${username}:${secret}`).toString('base64')
  await editDockerConfig(file, runtime, (text) => setAt(text, ['auths', host], { auth }))
  if (process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0)
    report(runtime, `stemma: warning: other users may read ${file}; run: chmod 600 ${file}`)
}

function expiryText(token: string, { now }: Runtime): string {
  const minutes = Math.floor((expiryOf(token) - now()) / 60_000)
  return minutes > 0 ? `It expires in ${minutes} minutes.` : 'It is not known when it expires.'
}
