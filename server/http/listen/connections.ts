// Accepts connections and passes each to the server of its protocol.
import type { Server as HttpServer } from 'node:http'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import type { KnownNetworks } from '../turns/known-networks.ts'
import { partyOfAddress } from '../turns/party.ts'
import type { Turns } from '../turns/turns.ts'
import type { ConnectionCounter } from './connection-counter.ts'
import type { ConnectionState } from './connection-state.ts'
import type { IdleConnections } from './idle-connections.ts'
import type { PacedTurns } from './paced-turns.ts'
import { mayBePipelined, paceRequests } from './pacing.ts'
import { peek } from './peek.ts'
import type { Penalties } from './penalties.ts'
import type { SlowReaders } from './slow-readers.ts'

export type Tls = { cert: string; key: string }

export type Connections = {
  http1: HttpServer
  onHttp2(socket: Duplex): void
  /** Time limit for the TLS handshake, and for the bytes that show the protocol. */
  firstBytesMs: number
  penalties: Penalties
  counter: ConnectionCounter
  /** Answers a connection beyond the limits of `counter` with an error, or resets it. */
  refuse(socket: Socket): void
  slowReaders: SlowReaders
  idle: IdleConnections<Socket>
  stateOf(socket: Socket): ConnectionState
  pacedTurns: PacedTurns
  turns: Turns
  knownNetworks: KnownNetworks
  /** Every open connection. */
  open: Set<Socket>
  /** Connections whose protocol is not known yet. Under TLS also those whose handshake has not ended. */
  undetected: Set<Socket>
}

/** A client may close its side and still wait for the response. */
const halfOpen = { allowHalfOpen: true }

export function createPlainServer(connections: Connections): Server {
  return createServer(halfOpen, (socket) => {
    accept(connections, socket, () => detectProtocol(connections, socket, passToHttp2))
  })
}

export function createSecureServer(connections: Connections, tls: Tls): Server {
  const tlsServer = createTlsServer({
    ...tls,
    // A client that offers both gets HTTP/1.1: HTTP/2 serves only gRPC.
    ALPNProtocols: ['http/1.1', 'h2'],
    minVersion: 'TLSv1.2',
    handshakeTimeout: connections.firstBytesMs,
  })
  const { undetected } = connections
  // A TLS socket does not give access to the socket that was passed to `tlsServer`, but has the same addresses.
  const inHandshake = new Map<string, Socket>()
  tlsServer.on('tlsClientError', (_, socket) => socket.destroy())
  tlsServer.on('secureConnection', (socket) => {
    socket.on('error', () => socket.destroy())
    if (isReset(socket)) {
      socket.destroy()
      return
    }
    const accepted = inHandshake.get(addressesOf(socket))
    if (accepted) undetected.delete(accepted)
    inHandshake.delete(addressesOf(socket))
    // Only now, so that a client that closes its side during the handshake is disconnected.
    Object.assign(socket, halfOpen)
    if (socket.alpnProtocol === 'h2') passToHttp2(connections, socket)
    // HTTP/2 without ALPN is not allowed under TLS (RFC 9113 section 3.2), so it is rejected as malformed HTTP/1.1.
    else detectProtocol(connections, socket, passToHttp1)
  })
  // A server without TLS accepts the connections first, so that those of a penalized network wait before the costly TLS
  // handshake.
  return createServer((socket) => {
    accept(connections, socket, () => {
      const addresses = addressesOf(socket)
      inHandshake.set(addresses, socket)
      socket.on('close', () => {
        // The client may have used its port for a new connection already.
        if (inHandshake.get(addresses) === socket) inHandshake.delete(addresses)
      })
      startInTurn(connections, socket, () => tlsServer.emit('connection', socket))
    })
  })
}

/** The addresses and ports of both ends, which no other open connection has. */
const addressesOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket) =>
  [remoteAddress, remotePort, localAddress, localPort].join(' ')

/** Calls `start` when the connection may be served. Refuses the connection if too many are open. */
function accept(connections: Connections, socket: Socket, start: () => void): void {
  const { open, undetected, penalties, counter, refuse } = connections
  if (isReset(socket)) {
    socket.destroy()
    return
  }
  open.add(socket)
  socket.on('close', () => open.delete(socket))
  if (!counter.admit(socket)) {
    refuse(socket)
    return
  }
  undetected.add(socket)
  socket.on('close', () => undetected.delete(socket))
  socket.on('error', () => socket.destroy())
  socket.setNoDelay(true)
  penalties.admit(socket, start)
}

/**
 * Whether the client has already reset the connection. Linux still delivers the data that the client sent before, but
 * its address is lost, so the limits per network could not be applied to its requests. If the client resets the
 * connection after this check, the address stays known, because Node.js stores it when it is first read.
 */
const isReset = ({ remoteAddress }: Socket) => remoteAddress === undefined

type PassToServer = (connections: Connections, socket: Socket, firstBytes: Buffer) => void

function detectProtocol(connections: Connections, socket: Socket, passHttp2: PassToServer): void {
  const { undetected, firstBytesMs } = connections
  undetected.add(socket)
  socket.on('close', () => undetected.delete(socket))
  peek(socket, firstBytesMs, (isHttp2, firstBytes) => {
    undetected.delete(socket)
    if (isHttp2) passHttp2(connections, socket, firstBytes)
    else passToHttp1(connections, socket, firstBytes)
  })
}

function passToHttp1(connections: Connections, socket: Socket, firstBytes: Buffer): void {
  const { http1, stateOf, slowReaders, idle, pacedTurns } = connections
  slowReaders.watch(socket)
  idle.watch(socket)
  http1.emit('connection', socket)
  if (mayBePipelined(firstBytes)) paceRequests(socket, stateOf(socket), pacedTurns)
  socket.resume()
}

function passToHttp2(connections: Connections, socket: Socket): void {
  // HTTP/2 has no half-open connections.
  socket.allowHalfOpen = false
  startInTurn(connections, socket, () => connections.onHttp2(socket))
}

/**
 * A TLS handshake and a new HTTP/2 session take about a millisecond each, so clients that connect again and again wait
 * for their turns. Until then a connection holds what its client has sent, so only few connections of a network may wait.
 */
function startInTurn({ turns, knownNetworks }: Connections, socket: Socket, start: () => void): void {
  turns.run(
    () => partyOfAddress(knownNetworks, socket.remoteAddress ?? ''),
    () => socket.destroyed || start(),
    () => socket.destroy(),
  )
}
