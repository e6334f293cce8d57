// Decides whether a caller that AWS has confirmed matches the rules of an identity.
import type { Identity_AWSIdentity } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import type { Patterns } from './pattern.ts'
import { matches } from './pattern.ts'

export type AwsCaller = { account: string; arn: string; userId: string }

export const matchesAwsCaller = (
  patterns: Patterns,
  { awsAccount, awsArn, awsUserId }: Identity_AWSIdentity,
  { account, arn, userId }: AwsCaller,
): boolean => awsAccount === account && matches(patterns, awsArn, arn) && matches(patterns, awsUserId, userId)
