// Calls that wait for time of the event loop, or for a connection to PostgreSQL. Groups of callers share it (start-time
// fair queueing): the next call is of the group that has used the least. A group that needs less than its share therefore
// hardly waits, however many calls the others send. The callers of a group take turns.
import { BoundedMap } from '../bounded-map.ts'
import type { Heap } from './heap.ts'
import { openHeap } from './heap.ts'

/**
 * An organization and an identity in it, or a network and an address in it. `weight` is the size of the share of the
 * group: a group of weight 8 may use eight times as much time as one of weight 1.
 */
export type Party = { group: string; member: string; weight: number }

export type WaitingCalls<Call> = {
  count(): number
  /** The number of waiting calls of the party's group. */
  countOf(party: Party): number
  add(party: Party, call: Call): void
  /** Removes the next call. `charge` must be called before the next `take`. */
  take(): Call | undefined
  /** Adds the time of the call that was taken to the time that its group has used, in milliseconds. */
  charge(time: number): void
  /** Adds time to a group later, when the call that was taken and charged has turned out to take longer. */
  chargeLater(party: Party, time: number): void
}

type Group<Call> = {
  name: string
  weight: number
  /** The time that the group has used, divided by its weight. Raised after a time without calls (see `usedOfIdle`). */
  used: number
  /** Will be added to `used`, which does not change while the group is in the heap. */
  owed: number
  /** The member whose turn is next is the first. */
  callsByMember: Map<string, Call[]>
  count: number
}

/** How many groups without waiting calls are remembered. */
const maxIdleGroups = 10_000

/**
 * `maxSaved` is how much time a group can save while it uses less than its share, in milliseconds for each unit of its
 * weight. Until it has used the saved time, its calls go first.
 */
export function openWaitingCalls<Call>(maxSaved: number): WaitingCalls<Call> {
  /** Groups with waiting calls. */
  const groups = new Map<string, Group<Call>>()
  const byUsed: Heap<Group<Call>> = openHeap(({ used }) => used)
  const usedByIdle = new BoundedMap<string, number>(maxIdleGroups)
  let current: Group<Call> | undefined
  /** The highest `used` at which a group was served. Groups that use their whole share are at about this. */
  let usedByBusy = 0
  let count = 0

  /** A group without calls saves at most `maxSaved`, and a new group has saved nothing. */
  const usedOfIdle = (name: string) => Math.max(usedByBusy - maxSaved, usedByIdle.get(name) ?? usedByBusy)

  function openGroup({ group: name, weight }: Party): Group<Call> {
    const used = usedOfIdle(name)
    usedByIdle.delete(name)
    const group = { name, weight, used, owed: 0, callsByMember: new Map(), count: 0 }
    groups.set(name, group)
    byUsed.add(group)
    return group
  }

  function takeGroup(): Group<Call> | undefined {
    for (;;) {
      const group = byUsed.takeLeast()
      if (!group || group.owed === 0) return group
      group.used += group.owed
      group.owed = 0
      byUsed.add(group)
    }
  }

  return {
    count: () => count,
    countOf: ({ group }) => groups.get(group)?.count ?? 0,
    add(party, call) {
      const group = groups.get(party.group) ?? openGroup(party)
      const { callsByMember } = group
      const calls = callsByMember.get(party.member)
      if (calls) calls.push(call)
      else callsByMember.set(party.member, [call])
      group.count++
      count++
    },
    take() {
      current = takeGroup()
      if (!current) return undefined
      usedByBusy = Math.max(usedByBusy, current.used)
      current.count--
      count--
      return takeNext(current.callsByMember)
    },
    charge(time) {
      if (!current) return
      current.used += time / current.weight
      if (current.callsByMember.size > 0) byUsed.add(current)
      else {
        groups.delete(current.name)
        usedByIdle.set(current.name, current.used + current.owed)
      }
      current = undefined
    },
    chargeLater({ group: name, weight }, time) {
      const group = groups.get(name)
      if (group) group.owed += time / weight
      else usedByIdle.set(name, usedOfIdle(name) + time / weight)
    },
  }
}

/** Takes the first call of the member whose turn is next. The member's other calls wait for the other members. */
function takeNext<Call>(callsByMember: Map<string, Call[]>): Call | undefined {
  const [member, calls] = callsByMember.entries().next().value ?? []
  if (member === undefined || !calls) return undefined
  const call = calls.shift()
  callsByMember.delete(member)
  if (calls.length > 0) callsByMember.set(member, calls)
  return call
}
