// Assuming an identity with a signed AWS request (aws-request.ts).

import type { Identity_AWSIdentity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { unavailable } from '../../aip/errors.ts'
import { arnFault } from '../../claims/arn.ts'
import type { AwsCaller } from '../../claims/aws.ts'
import { unverifiable } from '../foreign-tokens/unverifiable.ts'
import { OutboundError } from '../outbound/outbound.ts'
import { tokenLifetimeSeconds } from '../tokens/mint.ts'
import type { AssumeDependencies, AssumedIdentity } from './assumed-identity.ts'
import { loadIdentity, refused } from './assumed-identity.ts'
import type { AwsRequest } from './aws-request.ts'
import { awsRequestFault } from './aws-request.ts'
import { AwsUnreachableError } from './call-aws.ts'

export async function assumeByAws(
  { store, callAws, matcher, ownAudiences, authUrl, now }: AssumeDependencies,
  request: AwsRequest,
  uid: string,
): Promise<AssumedIdentity> {
  const fault = awsRequestFault(request, uid, ownAudiences, now())
  if (fault) throw unverifiable(new Error(fault))
  const identity = await loadIdentity(store, uid)
  if (identity.relationship.case !== 'awsIdentity') throw refused(`${uid} is not an AWS identity`)
  const caller = await callAws(request).catch((error: unknown) => {
    // Not a refusal, so it is not counted as a failed attempt (failed-exchanges.ts).
    if (error instanceof AwsUnreachableError)
      throw unavailable('AWS cannot be reached to verify the request; try again', error)
    throw error instanceof OutboundError ? unverifiable(error) : error
  })
  if (!(await matcher.matchesAws(identity, caller)))
    throw refused(`${caller.arn} does not match ${uid}`, arnAdvice(identity.relationship.value, caller))
  const expires = Math.floor(now() / 1000) + tokenLifetimeSeconds
  return {
    ...{ identity: uid, email: undefined, limits: {}, signIn: undefined },
    act: { iss: 'https://sts.amazonaws.com', sub: caller.arn, aud: authUrl },
    ...{ expires, credentialExpires: expires },
  }
}

/** Tells only a caller of the right account that the ARN of the identity can never match. */
function arnAdvice({ awsAccount, awsArn }: Identity_AWSIdentity, { account }: AwsCaller): string | undefined {
  const fault = awsArn.case === 'arn' && account === awsAccount && arnFault(awsArn.value, awsAccount)
  return fault ? `aws_identity.arn of the identity ${fault}; have it corrected` : undefined
}
