// `docker-credential-stemma`: the credential helper through which docker, podman and others get tokens for the registry.
// Errors are printed to standard output, where these programs read them.
import { Failure, NotSignedIn } from '../failure.ts'
import type { Runtime } from '../runtime.ts'
import { report } from '../runtime.ts'
import { singleLine } from '../single-line.ts'
import { findCredentials, listUsers } from './credentials.ts'
import { readCredentials, readServer } from './input.ts'
import { eraseLogin, storeLogin } from './stored-logins.ts'

/** If docker reads this text, it tries to pull without credentials. */
const notFound = 'credentials not found in native keychain'

const usage = `docker-credential-stemma gives access tokens of stemma auth login to docker, podman and other registry clients.

Usage: docker-credential-stemma get|store|erase|list

To make these programs call it, run: stemma registry configure-docker`

/** The result of each command is the text to print. */
const commands: Record<string, (runtime: Runtime) => Promise<string>> = {
  get: async (runtime) => JSON.stringify(await findCredentials(await readServer(runtime), runtime)),
  async store(runtime) {
    const { ServerURL, Username, Secret } = await readCredentials(runtime)
    await storeLogin(ServerURL, { username: Username, secret: Secret }, runtime)
    return ''
  },
  /** The sign-in of the CLI is not ended: other programs use it, too. */
  async erase(runtime) {
    await eraseLogin(await readServer(runtime), runtime)
    return ''
  },
  list: async (runtime) => JSON.stringify(await listUsers(runtime)),
}

/** Runs a command and returns its exit code. */
export async function runHelper([name = '', ...others]: string[], runtime: Runtime): Promise<number> {
  const print = (text: string) => void (text === '' || runtime.stdout.write(`${text}\n`))
  if (name === '--help') {
    print(usage)
    return 0
  }
  const command = Object.hasOwn(commands, name) && others.length === 0 ? commands[name] : undefined
  if (!command) {
    report(runtime, usage)
    return 1
  }
  try {
    print(await command(runtime))
    return 0
  } catch (error) {
    const message = singleLine((error as Error).message)
    // The stack of an unexpected error goes to standard error only: docker shows standard output.
    if (!(error instanceof Failure)) report(runtime, (error as Error).stack ?? message)
    if (error instanceof NotSignedIn) report(runtime, `stemma: ${message}`)
    print(error instanceof NotSignedIn ? notFound : message)
    return 1
  }
}
