// Lists and changes the operators of the server: people who administer it in the console and through the API.
import { isUid } from '../aip/uid.ts'
import { addOperator, removeOperator } from '../auth/administration/operators.ts'
import { isEmail } from '../auth/login/accounts.ts'
import { readConfig } from '../config/config.ts'
import { operatorAccessFor } from '../policy/system-access.ts'
import type { Recording } from '../store/events/record.ts'
import { readOperators } from '../store/operators.ts'
import type { Work } from '../store/work.ts'
import type { Command } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import { throwUsageError } from './throw-usage-error.ts'
import { withPreparedStore } from './with-store.ts'

export const operators: Command = async (args, context) => {
  const { config, positionals } = readConfig(context.env, args)
  const [action = '', person = '', ...extra] = positionals
  const change = Object.hasOwn(changes, action) ? changes[action] : undefined
  if (extra.length > 0 || (!change && (action !== 'list' || person !== ''))) throw usageOf('operators')
  if (change && !isEmail(person) && !isUid(person))
    throw new UsageError(`${JSON.stringify(person)} is not an e-mail address or the uid of an identity`)
  await withPreparedStore(config, context, async ({ store }) => {
    if (change) {
      const access = operatorAccessFor(`stemmad operators ${action}`)
      const identity = await store.write(() => change(access, person, context.now())).catch(throwUsageError)
      const result = action === 'add' ? 'is an operator' : 'is no longer an operator'
      context.stdout.write(`${person} (${identity}) ${result}.\n`)
      return
    }
    for (const { identity, email } of await store.read(readOperators))
      context.stdout.write(`${identity}  ${email}\n`)
  })
  return 0
}

type Change = (access: Recording, person: string, now: number) => Work<string>

const changes: Record<string, Change> = { add: addOperator, remove: removeOperator }
