// Runs other people's registry clients, with a home folder of their own.
import { execFile, spawnSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

export type ForeignClient = {
  /** Resolves to standard output. Rejects with standard error if the program fails. */
  run(args: string[], input?: string): Promise<string>
}

/** Why a client cannot be tested here; false if it can. Prints the reason, so that a skipped test is noticed. */
export function missing(program: string): string | false {
  const { error } = spawnSync(program, ['--help'])
  if (!error) return false
  const reason = `${program} is not installed`
  console.log(`the registry was not tested with ${program}: ${reason}`)
  return reason
}

/** `programs` is a folder in front of the PATH. Clients read their configuration below `home`. */
export async function foreignClient(
  program: string,
  home: string,
  { programs = '', env = {} }: { programs?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<ForeignClient> {
  await mkdir(home, { recursive: true })
  const environment = {
    PATH: `${programs}:${process.env.PATH}`,
    HOME: home,
    DOCKER_CONFIG: join(home, '.docker'),
    REGISTRY_AUTH_FILE: join(home, 'auth.json'),
    ...env,
  }
  return {
    run: (args, input = '') =>
      new Promise((resolve, reject) => {
        const options = { env: environment, cwd: home, timeout: 60_000 }
        const child = execFile(program, args, options, (error, stdout, stderr) =>
          error ? reject(new Error(`${program} ${args.join(' ')}: ${stderr}`)) : resolve(stdout.trim()),
        )
        child.stdin?.on('error', () => undefined).end(input)
      }),
  }
}
