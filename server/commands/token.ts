import { randomBytes } from 'node:crypto'
import { isUid } from '../aip/uid.ts'
import { mintToken } from '../auth/tokens/mint.ts'
import { readConfig } from '../config/config.ts'
import { openStore, prepareStore } from '../storage.ts'
import { sql } from '../store/sql.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'

export const token: Command = {
  usage: 'token IDENTITY_UID',
  about: 'Prints a fresh access token for an identity, valid for one hour.',
  async run(args) {
    const { config, rest } = readConfig(process.env, args)
    const [uid, ...more] = rest
    if (uid === undefined || more.length > 0 || !isUid(uid))
      throw new UsageError('Usage: stemmad token IDENTITY_UID')
    const store = openStore(config)
    try {
      const { keys } = await prepareStore(config, store)
      const known = await store.query(sql`select uid from identities where uid = ${uid}`)
      if (known.length === 0) throw new UsageError(`there is no identity ${uid}`)
      const signer = { keys, authUrl: config.authUrl, now: Date.now, random: randomBytes }
      const token = await mintToken(signer, { identity: uid, audience: config.baseUrl })
      process.stdout.write(`${token}\n`)
      return 0
    } finally {
      await store.close()
    }
  },
}
