// The people of the example. Each of them calls the API with their own token.

import type { KeyRing } from '../../auth/keys/key-ring.ts'
import { ensureVouchedAccount } from '../../auth/login/accounts.ts'
import { newSignIn } from '../../auth/sign-outs.ts'
import { mintToken } from '../../auth/tokens/mint.ts'
import { peopleOf } from '../../authentication.ts'
import type { Config } from '../../config/config.ts'
import type { RandomBytes } from '../../crypto/random.ts'
import type { WriteContext } from '../../resources/dependencies.ts'
import type { Store } from '../../store/db.ts'
import type { WriteAccess } from '../../store/write-access.ts'

type ActorDependencies = {
  store: Store
  config: Config
  keys: KeyRing
  /** Where the server of the example listens. */
  url: string
  access: WriteAccess
  now(): number
  random: RandomBytes
}

export type CallResponse = { uid: string }

export type Actors = {
  /** Adds a person with a verified address; returns their uid. */
  addPerson(email: string): Promise<string>
  uidOf(email: string): string
  /** Calls the API as an identity. Throws unless the call succeeds. */
  call(identity: string, method: string, path: string, body?: object): Promise<CallResponse>
  /** Sends any request as an identity, and returns the status. */
  send(
    identity: string,
    method: string,
    path: string,
    init?: { type: string; body: string | Uint8Array<ArrayBuffer> },
  ): Promise<number>
  store: Store
  context: WriteContext
}

export function openActors(deps: ActorDependencies): Actors {
  const { store, config, keys, url, access, now, random } = deps
  const { authUrl, baseUrl } = config
  const context = { access, now, random }
  const people = new Map<string, string>()

  /** A new token for each call, because the time of the example advances. */
  const authorizationOf = async (identity: string) => {
    const signIn = await newSignIn(store, identity, now())
    return `Bearer ${await mintToken({ keys, authUrl, now, random }, { identity, audience: baseUrl, signIn })}`
  }
  const request = async (
    identity: string,
    method: string,
    path: string,
    type: string,
    body?: string | Uint8Array<ArrayBuffer>,
  ) =>
    fetch(url + path, {
      method,
      headers: { authorization: await authorizationOf(identity), 'content-type': type },
      ...(body !== undefined && { body }),
    })
  return {
    ...{ store, context },
    async addPerson(email) {
      const uid = await store.write(() => ensureVouchedAccount(peopleOf(context), authUrl, email, now()))
      people.set(email, uid)
      return uid
    },
    uidOf(email) {
      const uid = people.get(email)
      if (uid === undefined) throw new Error(`the example has no person ${email}`)
      return uid
    },
    async call(identity, method, path, body) {
      const answer = await request(identity, method, path, 'application/json', body && JSON.stringify(body))
      if (!answer.ok) throw new Error(`${method} ${path} failed: ${answer.status} ${await answer.text()}`)
      return (await answer.json()) as CallResponse
    },
    async send(identity, method, path, init) {
      const answer = await request(
        identity,
        method,
        path,
        init?.type ?? 'application/octet-stream',
        init?.body,
      )
      await answer.arrayBuffer()
      return answer.status
    },
  }
}
