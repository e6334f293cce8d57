// A well-behaved client: one call, repeated at a rate within its limits, with an identity of its own.
import { Agent } from 'node:http'
import type { ServiceError } from '@grpc/grpc-js'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { asIs } from '../../load/grpc-definition.ts'
import type { Tenant, Workload } from '../tenant.ts'
import type { RestCall } from './rest-call.ts'
import { callTimeoutMs, sendRest } from './rest-call.ts'

/** `request` is in base64. */
export type GrpcCall = { path: string; request: string; authorization: string }

export type Caller = {
  name: string
  perSecond: number
  call: { rest: RestCall; opensConnectionPerCall?: boolean } | { grpc: GrpcCall }
}

/** Functions that return the calls of the clients, for one door. */
export type CallSource<Call> = Record<'get' | 'list' | 'create', (tenant: Tenant) => Call> & {
  exchange(workload: Workload): Call
}

export type OpenCaller = {
  /** Resolves when the call has succeeded. */
  send(): Promise<void>
  close(): void
}

/** Calls beyond this number wait for a free connection, as in most HTTP clients. The wait is part of their latency. */
const maxConnections = 16

export const openCaller = (port: number, { call }: Caller): OpenCaller =>
  'grpc' in call ? openGrpc(port, call.grpc) : openRest(port, call.rest, call.opensConnectionPerCall === true)

function openRest(port: number, call: RestCall, opensConnectionPerCall: boolean): OpenCaller {
  const agent = opensConnectionPerCall
    ? undefined
    : new Agent({ keepAlive: true, maxSockets: maxConnections })
  return {
    async send() {
      const { status, body } = await sendRest(port, call, agent ?? false)
      if (status !== 200) throw new Error(`HTTP ${status} ${body.slice(0, 150)}`)
    },
    close: () => agent?.destroy(),
  }
}

function openGrpc(port: number, { path, request, authorization }: GrpcCall): OpenCaller {
  const options = { 'grpc.use_local_subchannel_pool': 1 }
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), options)
  const bytes = Buffer.from(request, 'base64')
  const metadata = new Metadata()
  metadata.set('authorization', authorization)
  return {
    send: () =>
      new Promise((resolve, reject) => {
        const deadline = Date.now() + callTimeoutMs
        client.makeUnaryRequest(path, asIs, asIs, bytes, metadata, { deadline }, (error) =>
          error ? reject(new Error(textOf(error))) : resolve(),
        )
      }),
    close: () => client.close(),
  }
}

/** Without the times and ports that grpc-js adds, so that equal errors have equal texts. */
const textOf = ({ code, details }: ServiceError) => `gRPC ${code} ${details.split(' after ')[0]}`
