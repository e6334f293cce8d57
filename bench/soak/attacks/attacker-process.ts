// The process of the attackers.
import { once } from 'node:events'
import { Agent } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onCommand } from '../../load/bench-process.mjs'
import { sendRest } from '../clients/rest-call.ts'
import type { AttackerTenant } from '../tenant.ts'
import type { Attack, Target } from './attack.ts'
import { attacks } from './attack-list.ts'
import type { Budget } from './budget.ts'
import { openBudget } from './budget.ts'

export type AttackOrder = { port: number; tenant: AttackerTenant; names: string[]; perSecond: number }
export type AttackCommand = { start: AttackOrder } | 'counts'
/** How many requests were sent, and how often `Target.call` got each HTTP status or error code, such as ECONNRESET. */
export type AttackCount = { sent: number; statuses: Record<string, number> }
/** By the name of the attack. */
export type AttackCounts = Record<string, AttackCount>

/** Each attack has a /16 network of its own: 127.20.0.0/16, 127.21.0.0/16 and so on. The clients have 127.0.0.0/16. */
const networkOf = (name: string) => `127.${20 + Object.keys(attacks).indexOf(name)}`
/** The pause between two rounds. Bounds the number of rounds of an attack that fails at once. */
const pauseMs = 5

const counts: AttackCounts = {}

onCommand((command: AttackCommand) => {
  if (command === 'counts') return counts
  const { names, perSecond } = command.start
  const budget = openBudget(perSecond, () => performance.now(), sleep)
  for (const name of names) {
    const attack = attacks[name]
    if (!attack) throw new Error(`there is no attack ${name}`)
    const target = targetOf(command.start, budget, networkOf(name), addCount(name))
    for (let copy = 0; copy < attack.parallel; copy++) void repeat(attack, target)
  }
  return 'started'
})

/** Repeats the attack until the process ends. */
async function repeat(attack: Attack, target: Target): Promise<void> {
  for (;;) {
    // A connection that the server refuses or closes is an expected end of a round.
    await attack.round(target).catch(() => {})
    await sleep(pauseMs)
  }
}

function addCount(name: string): AttackCount {
  const count = { sent: 0, statuses: {} }
  counts[name] = count
  return count
}

function targetOf(
  { port, tenant }: AttackOrder,
  budget: Budget,
  network: string,
  count: AttackCount,
): Target {
  const agent = new Agent({ keepAlive: true, localAddress: `${network}.0.1` })
  let addresses = 0
  const nextAddress = () => {
    const next = ++addresses
    return `${network}.${(next >> 8) % 256}.${next % 256}`
  }
  const countStatus = (status: string) => {
    count.statuses[status] = (count.statuses[status] ?? 0) + 1
  }
  const take = async (requests: number) => {
    await budget.take(requests)
    count.sent += requests
  }
  return {
    ...{ port, tenant, nextAddress, take },
    open: () => openSocket(port, nextAddress()),
    async call(call, address) {
      await take(1)
      const answered = sendRest(port, call, address === undefined ? agent : false, address)
      countStatus(await answered.then(({ status }) => String(status), failureOf))
    },
  }
}

const failureOf = (error: NodeJS.ErrnoException) => error.code ?? error.name

async function openSocket(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
  await once(socket, 'connect')
  socket.on('error', () => {})
  return socket
}
