// Reads the input of a credential helper. A missing value is reported with the same text
// as by docker's own helpers.
import { Failure } from '../failure.ts'
import type { Runtime } from '../runtime.ts'
import type { Credentials } from './credentials.ts'

/** A server URL, user name and token are far smaller. */
const maxBytes = 64 * 1024

async function readInput({ stdin }: Pick<Runtime, 'stdin'>): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stdin) {
    size += chunk.length
    if (size > maxBytes) throw new Failure(`the input must have at most ${maxBytes} bytes`)
    chunks.push(Buffer.from(chunk))
  }
  return Buffer.concat(chunks).toString('utf8').trim()
}

export async function readServer(runtime: Pick<Runtime, 'stdin'>): Promise<string> {
  const server = await readInput(runtime)
  if (server === '') throw new Failure('no credentials server URL')
  return server
}

export async function readCredentials(runtime: Pick<Runtime, 'stdin'>): Promise<Credentials> {
  const { ServerURL, Username, Secret } = parseObject(await readInput(runtime))
  if (typeof ServerURL !== 'string' || ServerURL === '') throw new Failure('no credentials server URL')
  if (typeof Username !== 'string' || Username === '') throw new Failure('no credentials username')
  if (typeof Secret !== 'string' || Secret === '') throw new Failure('no credentials secret')
  return { ServerURL, Username, Secret }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const content: unknown = JSON.parse(text)
    if (typeof content === 'object' && content !== null) return content as Record<string, unknown>
  } catch {
    // Reported below. The error of the parser would quote the input, which may contain a secret.
  }
  throw new Failure('the input must be a JSON object with ServerURL, Username and Secret')
}
