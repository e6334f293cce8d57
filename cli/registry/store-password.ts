import { stat } from 'node:fs/promises'
import { storeLogin } from '../credential-helper/stored-logins.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { editDockerConfig } from './docker-config.ts'
import { setAt } from './json-text.ts'
import { callHelper } from './other-helper.ts'

export type Password = {
  host: string
  file: string
  /** The credential helper that docker uses for the host. */
  helper: string | undefined
  username: string
  secret: string
}

/** Stores a password as `docker login` does. */
export async function storePassword(password: Password, runtime: Runtime): Promise<void> {
  const { host, file, helper, username, secret } = password
  if (helper === 'stemma') return storeLogin(host, { username, secret }, runtime)
  if (helper !== undefined) {
    const input = JSON.stringify({ ServerURL: host, Username: username, Secret: secret })
    await callHelper(helper, 'store', input, runtime.env)
    // An empty entry tells docker that its helper has a password.
    return editDockerConfig(file, runtime, (text) => setAt(text, ['auths', host], {}))
  }
  const auth = Buffer.from(`${username}:${secret}`).toString('base64')
  await editDockerConfig(file, runtime, (text) => setAt(text, ['auths', host], { auth }))
  if (process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0)
    report(runtime, `stemma: warning: other users may read ${file}; run: chmod 600 ${file}`)
}
