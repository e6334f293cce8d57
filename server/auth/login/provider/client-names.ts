// The names of programs, as people see them in the list of their sessions. The keys are client ids (clients.ts).

const names: Readonly<Record<string, string>> = {
  stemma: 'Stemma command line',
  console: 'Stemma console',
  published: 'Client of this API',
  auth0: 'Client of this API',
}

export const clientNameOf = (client: string) =>
  Object.hasOwn(names, client) ? (names[client] ?? client) : client
