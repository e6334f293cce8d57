// PostgreSQL refuses to run as root, so under root the tests run it as a system user, which is added if missing.
import { spawnSync } from 'node:child_process'

const name = 'stemma-test'
const addCommands = [
  ['useradd', '--system', '--no-create-home', '--shell', '/bin/false', name],
  ['adduser', '-D', '-H', name], // busybox
]

export interface SystemUser {
  uid: number
  gid: number
}

/** The user that PostgreSQL runs as; undefined for the user of this process. */
export function findPostgresUser(): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const user = lookUp() ?? addUser()
  if (user === undefined)
    throw new Error(`root cannot run PostgreSQL, and the user ${name} could not be added`)
  return user
}

function addUser(): SystemUser | undefined {
  for (const [command = '', ...args] of addCommands) {
    spawnSync(command, args, { stdio: 'ignore' })
    // Adding fails if a parallel test run has just added the user, so look again in either case.
    const user = lookUp()
    if (user) return user
  }
  return undefined
}

function lookUp(): SystemUser | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout)
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined
}
