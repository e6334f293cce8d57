// `stemma registry configure-docker --pull-token`: a login for other machines, which works for up to a year.
import type { JsonObject } from '@bufbuild/protobuf'
import { parseCommandLine } from '../command-line.ts'
import { openConnection } from '../connection.ts'
import { commandOf } from '../contract/commands.ts'
import { Failure, UsageError } from '../failure.ts'
import { openScreen } from '../output/screen.ts'
import { toFailure } from '../resources/errors.ts'
import { readRequest } from '../resources/read-request.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { singleLine } from '../single-line.ts'
import { helperOf, readDockerConfig } from './docker-config.ts'
import type { ConfigureFlags, Target } from './options.ts'
import { pullTokenFlags } from './options.ts'
import { storePassword } from './store-password.ts'

export async function configurePullToken(
  flags: ConfigureFlags,
  { host, file }: Target,
  runtime: Runtime,
): Promise<void> {
  if (flags.parent === undefined)
    throw new UsageError(
      '--pull-token requires --parent GROUP: the token can pull from the repos in and below GROUP',
    )
  // An invalid file is reported before a pull token is created.
  const helper = helperOf(await readDockerConfig(file), host)
  const place = helper === undefined ? file : `docker-credential-${helper}`
  if (flags['dry-run'])
    return report(
      runtime,
      `Would create a pull token in ${flags.parent}${flags.save ? `, and store it in ${place}` : ''}.`,
    )
  const { uid, username, password, expirationTime } = await createPullToken(flags, runtime)
  const [user, secret] = [String(username), String(password)]
  try {
    if (flags.save) {
      await storePassword({ host, file, helper, username: user, secret }, runtime)
      report(runtime, `Stored a pull token for ${host} in ${place}.`)
    } else runtime.stdout.write(loginCommand(host, user, secret))
  } finally {
    // Also if the token was not stored: it exists, and works until it expires.
    report(
      runtime,
      singleLine(
        `The pull token expires at ${expirationTime}. To revoke it: stemma pull-tokens delete ${uid}`,
      ),
    )
  }
}

/** The command is pasted into a shell, so it must contain nothing from the server that a shell would interpret. */
function loginCommand(host: string, user: string, secret: string): string {
  if (![user, secret].every((word) => /^[\w.~+/=-]+$/.test(word)))
    throw new Failure('the server sent a user name or a password that is not safe to print in a command')
  return `docker login ${JSON.stringify(host)} --username "${user}" --password "${secret}"\n`
}

/** Uses the flags of `stemma pull-tokens create`, which are derived from the contract. */
async function createPullToken(flags: ConfigureFlags, runtime: Runtime): Promise<JsonObject> {
  const command = commandOf('pull-tokens', 'create')
  const values = { ...flags, name: flags.name ?? defaultName(runtime) }
  const line = parseCommandLine(
    command,
    pullTokenFlags.flatMap((name) => (values[name] === undefined ? [] : [`--${name}=${values[name]}`])),
  )
  try {
    const connection = await openConnection(flags, runtime)
    const request = await readRequest(
      { command, line, connection, screen: openScreen(runtime), runtime },
      undefined,
    )
    return await connection.call(command.method.desc, request)
  } catch (error) {
    throw toFailure(error, command, false)
  }
}

const defaultName = ({ now }: Runtime): string =>
  `pull-token-${new Date(now()).toISOString().slice(0, 'YYYY-MM-DD'.length)}`
