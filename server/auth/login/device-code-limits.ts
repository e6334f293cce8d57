// Limits the number of device codes with which nobody has signed in yet. Anyone can request a
// device code, and the server must store it to find it by its short user code. A network that
// requests too many is refused, so that it cannot displace the codes of other networks.
import { tooManyRequests } from '../../aip/errors.ts'
import { digestOf } from '../../crypto/digest.ts'
import type { Sql } from '../../store/sql.ts'
import { raw, sql } from '../../store/sql.ts'
import type { Work } from '../../store/work.ts'
import { first } from '../../store/work.ts'
import type { Networks } from '../../wire/client-network.ts'

/** The maximum number of codes of one network, for each of the three widths (client-network.ts), and in total. */
export type DeviceCodeLimits = { wide: number; middle: number; narrow: number; total: number }

/** A code has at most 4 KB (provider/adapter.ts), so all of them together take at most 80 MB. */
export const defaultDeviceCodeLimits: DeviceCodeLimits = {
  ...{ wide: 1500, middle: 300, narrow: 100 },
  total: 20_000,
}

/** Characters of the digest of one network. */
const digestLength = 16

/**
 * The networks of a client as they are stored: a digest of each, the widest first, separated by slashes. So the
 * stored networks of all clients in one wide network begin with the same digest.
 */
export const storedNetworksOf = (networks: Networks): string =>
  networks.map((network) => digestOf(`network\0${network}`).slice(0, digestLength)).join('/')

const retrySeconds = 60

const refused = (devices: string) =>
  tooManyRequests(`too many ${devices} are waiting for a sign-in; try again later`, retrySeconds)

/** Refuses a new code beyond the limits. `stored` is the result of `storedNetworksOf`. */
export function* enforceDeviceCodeLimits(limits: DeviceCodeLimits, stored: string, now: number): Work<void> {
  const isLive = sql`network is not null and expire_time > ${now}`
  const [wide, middle] = [startOf(stored, 1), startOf(stored, 2)]
  const row = yield* first(sql`select count(*), count(case when ${within(middle)} then 1 end),
    count(case when network = ${stored} then 1 end)
    from sign_in_states where ${within(wide)} and ${isLive}`)
  const [inWide = 0, inMiddle = 0, inNarrow = 0] = (row ?? []).map(Number)
  if (inWide >= limits.wide || inMiddle >= limits.middle || inNarrow >= limits.narrow)
    throw refused('devices of your network')
  const total = yield* first(sql`select count(*) from sign_in_states where ${isLive}`)
  if (Number(total?.[0]) < limits.total) return
  // Finding a code to delete takes some milliseconds, so it is done only if the client's middle network has no code.
  if (inMiddle > 0 || !(yield* deleteCodeOfLargestNetwork(isLive))) throw refused('devices')
}

/**
 * Deletes the newest code of the network that has the most codes, because that code most likely belongs to a flood.
 * Returns false if every network has only one code.
 */
function* deleteCodeOfLargestNetwork(isLive: Sql): Work<boolean> {
  const wide = yield* largestNetwork(isLive, 1)
  if (wide === undefined) return false
  const middle = yield* largestNetwork(sql`${within(`${wide}/`)} and ${isLive}`, 2)
  const rows = yield sql`delete from sign_in_states where id in (select id from sign_in_states
    where ${within(`${middle ?? wide}/`)} and ${isLive} order by expire_time desc limit 1) returning id`
  return rows.length > 0
}

/**
 * The network with the most codes, identified by the first digests of its stored form: one digest for a wide network,
 * two for a middle one. Undefined if every network has only one code. If several networks have equally
 * many codes, it is the one with the newest code.
 */
function* largestNetwork(condition: Sql, digestCount: number): Work<string | undefined> {
  const length = digestCount * (digestLength + 1) - 1
  const row =
    yield* first(sql`select ${raw(`substr(network, 1, ${length})`)} from sign_in_states where ${condition}
    group by 1 having count(*) > 1 order by count(*) desc, max(expire_time) desc limit 1`)
  return row?.[0] as string | undefined
}

/** The first `digestCount` digests of stored networks, each with the slash that follows it. */
const startOf = (stored: string, digestCount: number) => stored.slice(0, digestCount * (digestLength + 1))

/**
 * Matches the stored networks that begin with a prefix, which ends with a slash. The condition is a range, so that it
 * can use the index. The range ends at `0`, the next character after `/` in ASCII.
 */
const within = (prefix: string): Sql => sql`network >= ${prefix} and network < ${`${prefix.slice(0, -1)}0`}`
