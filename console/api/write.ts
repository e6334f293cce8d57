// Writing: runs a call, reports its result, and marks what it may have changed as outdated.
import { useSignal } from '@preact/signals'
import type { DeepPartial, UnaryCall } from '@stemma/api/json'
import { Code, StemmaError } from '@stemma/api/json'
import { toast } from '../ui/toast.ts'
import { isSignInTooOld } from './error-text.ts'
import { invalidate, reload } from './queries.ts'
import { kindOf } from './read.ts'
import type { SignInReason } from './session.ts'
import { askToSignIn } from './session.ts'

export type WriteOptions<Response> = {
  /** Kinds that the call changes besides its own, named as in API paths. `groups` and `access` are always included. */
  also?: readonly string[]
  /** Shown after success, such as “Group created”. */
  done?: string
  /**
   * Called after success, before the data is loaded again: closes the dialog or leaves the page of a deleted thing, which
   * could not be loaded any more.
   */
  after?: (response: Response) => unknown
}

/** `run` resolves to undefined if the call fails; `error` then has the reason. `isDone`: the last call has succeeded. */
export function useWrite<Request, Response>(
  call: UnaryCall<Request, Response>,
  { also = [], done, after }: WriteOptions<Response> = {},
) {
  const isRunning = useSignal(false)
  const isDone = useSignal(false)
  const error = useSignal<unknown>(undefined)
  const run = async (request: DeepPartial<Request>): Promise<Response | undefined> => {
    if (isRunning.value) return undefined
    isRunning.value = true
    isDone.value = false
    error.value = undefined
    try {
      const response = await send(call, request)
      isDone.value = true
      await after?.(response)
      if (done) toast(done)
      // Usage is a part of groups and changes with every kind; access changes with most of them.
      await invalidate([...new Set([kindOf(call.route.path), 'groups', 'access', ...also])])
      return response
    } catch (caught) {
      error.value = caught
      // Somebody else has changed it. The next attempt needs the new entity tag.
      if (caught instanceof StemmaError && caught.code === Code.ABORTED)
        await reload([kindOf(call.route.path)])
      return undefined
    } finally {
      isRunning.value = false
    }
  }
  return { run, isRunning, isDone, error }
}

/** If the person must sign in first, the call is made again when they have. */
async function send<Request, Response>(
  call: UnaryCall<Request, Response>,
  request: DeepPartial<Request>,
): Promise<Response> {
  try {
    return await call(request)
  } catch (error) {
    const reason = signInReasonOf(error)
    if (!reason || !(await askToSignIn(reason))) throw error
    return call(request)
  }
}

function signInReasonOf(error: unknown): SignInReason | undefined {
  if (!(error instanceof StemmaError)) return undefined
  if (error.code === Code.UNAUTHENTICATED) return 'ended'
  return isSignInTooOld(error) ? 'not-fresh' : undefined
}
