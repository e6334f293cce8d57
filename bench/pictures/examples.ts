// Things that the pictures show and `stemmad demo` does not make, because they need other servers.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Call = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>

/** Adds the examples to an organization. The returned function ends the server that receives events. */
export async function addExamples(call: Call, organization: string): Promise<() => void> {
  const { roles } = await call('GET', '/iam/v2beta1/roles?name=viewer')
  const viewer = (roles as { uid: string }[])[0]?.uid
  const provider = await call('POST', `/iam/v2beta1/identityProviders/${organization}`, {
    ...{ name: 'company sign-in', description: 'for all employees', defaultRole: viewer },
    oidc: { issuer: 'https://login.northwind.example', clientId: 'stemma', pkceEnabled: true },
  })
  await call('POST', `/iam/v2beta1/externalGroupRoleMappings/${provider.uid}`, {
    ...{ externalGroupId: 'engineering', roleUid: viewer, scope: organization },
  })
  await call('POST', `/iam/v2beta1/accountAssociations/${organization}`, {
    ...{ name: 'production account', amazon: { account: '123456789012' } },
  })
  return subscribe(call, organization)
}

/** One sink accepts events, the other has a fault. */
async function subscribe(call: Call, organization: string): Promise<() => void> {
  const receiver = createServer((request, response) => {
    const isAccepted = request.url === '/events'
    response.writeHead(isAccepted ? 202 : 503, { 'content-type': 'text/plain' })
    response.end(isAccepted ? 'accepted' : 'the queue is full')
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  for (const [path, description] of [
    ['events', 'to the chat of the platform team'],
    ['full', 'to the data warehouse'],
  ]) {
    const { uid } = await call('POST', `/events/v2beta1/subscriptions/${organization}`, {
      ...{ sink: `http://127.0.0.1:${port}/${path}`, description },
    })
    await call('POST', `/events/v2beta1/subscriptions/${uid}:test`, {})
  }
  return () => {
    receiver.closeAllConnections()
    receiver.close()
  }
}
