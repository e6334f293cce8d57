import { toJson } from '../output/serialize.ts'
import type { Invocation } from './invocation.ts'
import { progressIfRedirected } from './invocation.ts'
import { readRequest } from './read-request.ts'

/** Prints the documents of a stream, one JSON document per line. */
export async function runStream(invocation: Invocation): Promise<void> {
  const { command, connection, screen } = invocation
  const request = await readRequest(invocation, undefined)
  const progress = progressIfRedirected(invocation)
  let count = 0
  try {
    for await (const document of connection.stream(command.method.desc, request)) {
      await screen.write(`${toJson(document, 0)}\n`)
      count += 1
      progress.update(count)
    }
  } finally {
    progress.clear()
  }
}
