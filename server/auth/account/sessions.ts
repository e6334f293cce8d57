import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { ListSessionsResponseSchema } from '@stemma/api/gen/platform/iam/v2beta1/account_pb.ts'
import type { SignIn } from '../../wire/caller.ts'
import { clientNameOf } from '../login/provider/client-names.ts'
import type { SignInRecord } from '../sign-in-records.ts'

export const sessionsMessage = (records: readonly SignInRecord[], current: SignIn | undefined) =>
  create(ListSessionsResponseSchema, {
    sessions: records.map((record) => ({
      ...{ id: record.id, browser: record.isBrowser, address: record.address, userAgent: record.userAgent },
      client: record.isBrowser ? '' : clientNameOf(record.client),
      createTime: timestampFromMs(record.createTime),
      lastUseTime: timestampFromMs(record.useTime),
      expireTime: timestampFromMs(record.expireTime),
      current: record.id === current?.id,
    })),
  })
