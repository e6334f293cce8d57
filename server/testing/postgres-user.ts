// PostgreSQL refuses to run as root, so root runs it as a system user of its own, added if missing.
import { spawnSync } from 'node:child_process'

const name = 'stemma-test'
const waysToAdd = [
  ['useradd', '--system', '--no-create-home', '--shell', '/bin/false', name],
  ['adduser', '-D', '-H', name], // busybox
]

export interface Owner {
  uid: number
  gid: number
}

/** Whom PostgreSQL runs as; undefined: whoever runs this. */
export function findOwner(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const owner = lookUp() ?? addUser()
  if (owner === undefined) throw new Error(`root cannot run it and no user ${name} could be added`)
  return owner
}

function addUser(): Owner | undefined {
  for (const [command = '', ...args] of waysToAdd) {
    spawnSync(command, args, { stdio: 'ignore' })
    // A failure may mean that a run beside this one has just added the user.
    const owner = lookUp()
    if (owner) return owner
  }
  return undefined
}

function lookUp(): Owner | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout)
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined
}
