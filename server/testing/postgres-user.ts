// PostgreSQL refuses to run as root, so under root the tests run it as a system user, which is added if missing.
import { spawnSync } from 'node:child_process'

const name = 'stemma-test'
const addCommands = [
  ['useradd', '--system', '--no-create-home', '--shell', '/bin/false', name],
  ['adduser', '-D', '-H', name], // busybox
]

export interface Owner {
  uid: number
  gid: number
}

/** The user that PostgreSQL runs as; undefined for the user of this process. */
export function findOwner(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const owner = lookUp() ?? addUser()
  if (owner === undefined)
    throw new Error(`root cannot run PostgreSQL, and the user ${name} could not be added`)
  return owner
}

function addUser(): Owner | undefined {
  for (const [command = '', ...args] of addCommands) {
    spawnSync(command, args, { stdio: 'ignore' })
    // Adding fails if a parallel test run has just added the user, so look again in either case.
    const owner = lookUp()
    if (owner) return owner
  }
  return undefined
}

function lookUp(): Owner | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout)
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined
}
