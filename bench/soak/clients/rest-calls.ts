import type { Tenant, Workload } from '../tenant.ts'
import type { CallSource } from './caller.ts'
import type { RestCall } from './rest-call.ts'

const groups = '/iam/v2beta1/groups'

const get = (path: string, { authorization }: Tenant): { rest: RestCall } => ({
  rest: { method: 'GET', path, headers: { authorization } },
})

const post = (path: string, body: object, { authorization }: Tenant | Workload): { rest: RestCall } => ({
  rest: { method: 'POST', path, headers: { authorization }, body: JSON.stringify(body) },
})

export const restCalls = {
  get: (tenant) => get(`${groups}/${tenant.group}`, tenant),
  list: (tenant) => get(`${groups}?page_size=50`, tenant),
  create: (tenant) => post(`${groups}/${tenant.organization}`, { name: 'made-by-a-client' }, tenant),
  exchange: (workload) => post('/sts/exchange', { identity: workload.identity }, workload),
} satisfies CallSource<{ rest: RestCall }>
