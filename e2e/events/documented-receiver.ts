// Runs the receiver of docs/events.md, on a free port.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../api/testing/free-port.ts'

const root = join(import.meta.dirname, '../..')
const documentedPort = 'listen(8081)'

export type DocumentedReceiver = {
  /** Sends a request, and returns the status of the response. */
  send(headers: Record<string, string>, body: string): Promise<number>
  stop(): Promise<void>
}

export async function startDocumentedReceiver(
  issuer: string,
  group: string,
  secret: string,
): Promise<DocumentedReceiver> {
  const page = await readFile(join(root, 'docs/events.md'), 'utf8')
  const program = /receiver\.mjs <<'END'\n(.*?)\nEND\n/s.exec(page)?.[1]
  if (!program?.includes(documentedPort)) throw new Error('docs/events.md has no receiver')
  const folder = await mkdtemp(join(tmpdir(), 'stemma-receiver-'))
  const port = await freePort()
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const file = join(folder, 'receiver.mjs')
  await writeFile(file, program.replace(documentedPort, `listen(${port}, () => process.send('listening'))`))
  const child = spawn(process.execPath, [file, issuer, group, secret], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  // Waited for from the start: a child that has exited on its own emits no further event.
  const exited = once(child, 'exit')
  await Promise.race([
    once(child, 'message'),
    exited.then(([code]) => {
      throw new Error(`the receiver ended with exit code ${code}`)
    }),
  ])
  return {
    async send(headers, body) {
      const response = await fetch(`http://127.0.0.1:${port}/events`, { method: 'POST', headers, body })
      return response.status
    },
    async stop() {
      child.kill()
      await exited
      await rm(folder, { recursive: true })
    },
  }
}
