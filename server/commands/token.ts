import { isUid } from '../aip/uid.ts'
import { newSignIn } from '../auth/sign-outs.ts'
import { mintToken } from '../auth/tokens/mint.ts'
import { readConfig } from '../config/config.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import { sql } from '../store/sql.ts'
import type { Command } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import { recordForIdentity } from './record-command.ts'
import { throwUsageError } from './throw-usage-error.ts'
import { withPreparedStore } from './with-store.ts'

export const token: Command = async (args, context) => {
  const { config, positionals } = readConfig(context.env, args)
  const [uid, ...extra] = positionals
  if (uid === undefined || extra.length > 0 || !isUid(uid)) throw usageOf('token')
  const minted = await withPreparedStore(config, context, async ({ store, keys }) => {
    // An external group has a row, too, but nobody acts as a group.
    const rows = await store.query(sql`select uid from identities where uid = ${uid}
        and uid not in (select external_group from external_group_role_mappings)`)
    if (rows.length === 0) throw new UsageError(`there is no identity ${uid}`)
    const { now, random } = context
    const signer = { keys, authUrl: config.authUrl, now, random }
    // A person's token states when they signed in, so that signing them out everywhere also ends this token.
    const signIn = await newSignIn(store, uid, now()).catch(throwUsageError)
    await store.write(() => recordForIdentity(operatorAccessFor('stemmad token'), uid, 'issued'))
    return mintToken(signer, { identity: uid, audience: config.baseUrl, signIn })
  })
  context.stdout.write(`${minted}\n`)
  return 0
}
