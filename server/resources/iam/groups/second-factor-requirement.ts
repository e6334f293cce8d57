import type { Group } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { parentOf } from '../../../aip/uid.ts'

/** People sign in to the server, and not to a group, so only a whole organization can require a second factor. */
export function requireOrganizationForSecondFactor({ secondFactorRequired }: Group, uid: string): void {
  if (secondFactorRequired && parentOf(uid) !== '')
    throw invalidField('second_factor_required', 'can be set only for an organization, which has no parent')
}
