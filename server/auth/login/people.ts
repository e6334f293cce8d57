import type { Work } from '../../store/work.ts'

export type Person = {
  issuer: string
  subject: string
  name: string
  /** An address that somebody vouches for whom this server believes. */
  email?: string | undefined
  emailUnverified?: string | undefined
  /** The domain whose addresses this issuer speaks for: one of them that it no longer names is no longer theirs. */
  speaksFor?: string | undefined
}

/** What sign-in does in the tree: handed in, since this room knows no resources. */
export type People = {
  /** The uid of a person, who is written down at the first time. */
  ensure(person: Person): Work<string>
  /** Gives whoever comes by a provider for the first time its default role. */
  comeBy(provider: string, identity: string): Work<void>
  /** Refuses a code that somebody with this address could not accept. */
  requireInvite(code: string, email: string): Work<void>
  acceptInvite(
    code: string,
    guest: { identity: string; email: string | undefined },
  ): Work<{ group: string; role: string }>
  /** A new organization with its owner. */
  found(name: string, owner: string): Work<string>
  /** What is wrong with the name of an organization. */
  nameFault(name: string): string | undefined
}
