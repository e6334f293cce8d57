// The credentials that `docker login` gives to the credential helper, in one file that only its owner can read.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { withLock } from '../lock.ts'
import { writePrivateFile } from '../private-file.ts'
import type { Runtime } from '../runtime.ts'
import { storeFolder } from '../token-store.ts'

export type Login = { username: string; secret: string }

/** Keyed by server, as docker spells it. */
type Logins = Map<string, Login>

/** The file is read as a whole for each pull. */
const maxLogins = 1000

const fileOf = (env: NodeJS.ProcessEnv) => join(storeFolder(env), 'registry-logins.json')

export async function readLogins(env: NodeJS.ProcessEnv): Promise<Logins> {
  const file = fileOf(env)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  try {
    return new Map(Object.entries(JSON.parse(text) as Record<string, Login>))
  } catch {
    throw new Failure(`${file} is not valid JSON; remove it, and log in again`)
  }
}

export const storeLogin = (server: string, login: Login, runtime: Pick<Runtime, 'env' | 'now'>) =>
  change(runtime, (logins) => {
    if (!logins.has(server) && logins.size >= maxLogins)
      throw new Failure(`at most ${maxLogins} logins can be stored; log out of some servers`)
    logins.set(server, login)
    return true
  })

export const eraseLogin = (server: string, runtime: Pick<Runtime, 'env' | 'now'>) =>
  change(runtime, (logins) => logins.delete(server))

/** `edit` returns whether it has changed anything. */
const change = ({ env, now }: Pick<Runtime, 'env' | 'now'>, edit: (logins: Logins) => boolean) =>
  withLock(`${fileOf(env)}.lock`, now, async () => {
    const logins = await readLogins(env)
    if (!edit(logins)) return
    await writePrivateFile(fileOf(env), `${JSON.stringify(Object.fromEntries(logins), undefined, 2)}\n`)
  })
