import { parseFlags } from '../parse-flags.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { expiryOf } from '../token-store.ts'
import { helperOf, readDockerConfig } from './docker-config.ts'
import { fileOptions, readTarget } from './options.ts'
import { registryToken, tokenUser } from './registry-token.ts'
import { storePassword } from './store-password.ts'

/** `stemma registry login`: stores a token that works until it expires. */
export async function login(args: string[], runtime: Runtime): Promise<void> {
  const target = await readTarget(parseFlags(args, fileOptions), runtime)
  const { context, host, file } = target
  const secret = runtime.env.STEMMA_TOKEN || (await registryToken(context, runtime))
  const helper = helperOf(await readDockerConfig(file), host)
  if (helper === 'stemma')
    return report(runtime, `${file} names docker-credential-stemma for ${host} already: no login is needed.`)
  await storePassword({ host, file, helper, username: tokenUser, secret }, runtime)
  const place = helper === undefined ? file : `docker-credential-${helper}`
  report(runtime, `Stored a token for ${host} in ${place}. ${expiryText(secret, runtime)}`)
  report(runtime, 'With stemma registry configure-docker instead, docker gets new tokens by itself.')
}

function expiryText(token: string, { now }: Runtime): string {
  const expiry = expiryOf(token)
  if (expiry === 0) return 'It is not known when it expires.'
  const leftMs = expiry - now()
  if (leftMs <= 0) return 'It has expired already.'
  const minutes = Math.floor(leftMs / 60_000)
  if (minutes === 0) return 'It expires in less than a minute.'
  return `It expires in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`
}
