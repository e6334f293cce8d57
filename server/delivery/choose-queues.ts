// Chooses the queues whose turns start next, so that an organization with very many queues does
// not delay others. A place is room for one running turn (turn-pool.ts).
import type { DueQueue } from '../store/delivery/queues.ts'

export type Places = {
  places: number
  /** How many of the places are only for organizations that have no other turn. */
  reserved: number
  perOrganization: number
}

/**
 * For each free place, chooses the first queue in `found` whose organization has the fewest turns.
 * `turns` are the running ones. Returns subscriptions with their organizations.
 */
export function chooseQueues(
  found: readonly DueQueue[],
  { places, reserved, perOrganization }: Places,
  turns: readonly { root: string }[],
): Map<string, string> {
  const counts = new Map<string, number>()
  const countOf = (root: string) => counts.get(root) ?? 0
  for (const { root } of turns) counts.set(root, countOf(root) + 1)
  const remaining = new Map(found.map(({ subscription, root }) => [subscription, root]))
  const chosen = new Map<string, string>()
  for (let free = places - turns.length; free > 0; free--) {
    const [first, ...others] = remaining
    if (!first) break
    const [subscription, root] = others.reduce(
      (best, other) => (countOf(other[1]) < countOf(best[1]) ? other : best),
      first,
    )
    if (countOf(root) >= (free > reserved ? perOrganization : 1)) break
    chosen.set(subscription, root)
    remaining.delete(subscription)
    counts.set(root, countOf(root) + 1)
  }
  return chosen
}
