// Runs a create once for each idempotency key. The response is stored in the transaction of the create, so both are
// committed or neither is; the primary key of the stored row lets only one of several concurrent creates commit.
import { createHmac, createSecretKey } from 'node:crypto'
import { keyInUse, keyReused, StatusError, unauthenticated } from '../../aip/errors.ts'
import { parseIdempotencyKey } from '../../aip/idempotency-key.ts'
import { equalInConstantTime } from '../../crypto/digest.ts'
import type { Secret } from '../../crypto/secret.ts'
import type { WriteGrants } from '../../policy/admit.ts'
import type { Call, SentKey } from '../../rpc/call.ts'
import type { Store } from '../../store/db.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Work } from '../../store/work.ts'
import type { Creation, Idempotency } from '../dependencies.ts'
import { canonicalBytes } from './canonical-bytes.ts'
import type { Outcome } from './outcome.ts'
import { decodeOutcome, encodeOutcome, isFinal, outcomeOfError, outcomeOfReply, replyOf } from './outcome.ts'
import type { StoredKey, StoredOutcome } from './stored-keys.ts'
import { findOutcome, insertOutcome } from './stored-keys.ts'

type Answer = { outcome: Outcome; isReplayed: boolean }

/** How often a create is attempted if concurrent creates store the same key first. */
const maxAttempts = 3

/** A concurrent transaction has stored the same key. */
class LostRace extends Error {}

/** Carries a final error of a create out of its transaction, which is rolled back. */
class FinalError extends Error {
  readonly error: StatusError

  constructor(error: StatusError) {
    super(error.message)
    this.error = error
  }
}

export function openIdempotency({ secret, now }: { secret: Secret; now(): number }): Idempotency {
  const hashKey = createSecretKey(secret.derive('idempotency keys'))
  // With its own encryption key (see `sealerFor`), since callers decide how often it is used.
  const sealer = secret.sealerFor('idempotent responses')
  // The lengths separate the parts: no two lists of parts have the same text.
  const hash = (...parts: (string | Uint8Array)[]) => {
    const hmac = createHmac('sha256', hashKey)
    for (const part of parts) hmac.update(`${part.length}:`).update(part)
    return hmac.digest('base64url')
  }
  /** The ids of keys whose creates run now in this worker: few, since the store limits how many writes run or wait. */
  const running = new Set<string>()

  /** Returns a StatusError if the key is malformed. */
  function storedKeyOf({ method, request, header }: SentKey, caller: string): StoredKey | StatusError {
    const key = parseIdempotencyKey(header)
    if (key instanceof StatusError) return key
    return {
      id: hash('key', caller, method.name, key),
      digest: hash('request', canonicalBytes(method.desc.input, request)),
    }
  }

  function outcomeIn(key: StoredKey, { digest, sealed }: StoredOutcome): Outcome {
    if (!equalInConstantTime(digest, key.digest)) throw keyReused()
    return decodeOutcome(sealer.open(key.id, sealed))
  }

  function* record(key: StoredKey, caller: string, outcome: Outcome): Work<void> {
    try {
      yield* insertOutcome(key, caller, sealer.seal(key.id, encodeOutcome(outcome)), now())
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      if (error.kind === 'unique') throw new LostRace()
      if (error.kind === 'foreign-key') throw unauthenticated('the identity of the caller was deleted')
      throw error
    }
  }

  /**
   * The outcome of the first call with this key. If this call is the first, its outcome is stored: `finalError` if
   * given, or else the result of the create.
   */
  function* answer(key: StoredKey, creation: Creation, finalError?: StatusError): Work<Answer> {
    const grants = yield* creation.admit()
    const stored = yield* findOutcome(key, now())
    if (stored) return { outcome: outcomeIn(key, stored), isReplayed: true }
    const outcome = finalError ? outcomeOfError(finalError) : yield* runCreate(creation, grants)
    yield* record(key, grants.caller.identity, outcome)
    return { outcome, isReplayed: false }
  }

  async function answerOnce(store: Store, call: Call, key: StoredKey, creation: Creation): Promise<Answer> {
    const write = (finalError?: StatusError) =>
      retryLostRaces(() => store.write(() => answer(key, creation, finalError), call.deadline))
    try {
      return await write()
    } catch (error) {
      // The transaction of the create is rolled back, so its error is stored in another one. If a concurrent call has
      // stored its outcome meanwhile, both calls get that outcome.
      if (error instanceof FinalError) return write(error.error)
      throw error
    }
  }

  return {
    async run(store, call, sent, creation) {
      const key = storedKeyOf(sent, call.demand.caller.identity)
      if (key instanceof StatusError) return refuse(store, call, creation, key)
      if (running.has(key.id)) throw keyInUse()
      running.add(key.id)
      try {
        const { outcome, isReplayed } = await answerOnce(store, call, key, creation)
        return replyOf(outcome, call.method.desc.output, isReplayed)
      } finally {
        running.delete(key.id)
      }
    },
  }
}

function* runCreate({ create }: Creation, grants: WriteGrants): Work<Outcome> {
  try {
    return outcomeOfReply(yield* create(grants))
  } catch (error) {
    throw isFinal(error) ? new FinalError(error) : error
  }
}

async function retryLostRaces(write: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof LostRace)) throw error
      if (attempt === maxAttempts) throw keyInUse()
    }
  }
}

/** Only an authorized caller learns what is wrong with the key. */
const refuse = (store: Store, call: Call, { admit }: Creation, fault: StatusError): Promise<never> =>
  store.write(function* () {
    yield* admit()
    throw fault
  }, call.deadline)
